"""The report as text: what to do comes first, 80 columns hold it, and it claims no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up import knowledge

from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.record import Wrapper
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.plain import WIDTH, report_text

KNOWN = knowledge()
LOG = "INFO start\nValueError: Widget size 3 does not divide 8 here\n"
SHIPPED_CASES = sorted(Path(__file__).with_name("cases").glob("*/*.log"))[::6]


def of(text: str | bytes, known: Knowledge = KNOWN, **answers: object) -> Report:
    paste = read(text, "x.log", knowledge=known.reading)
    return report(read_sources([Source(paste)], known), known, answers=answers)


def text_of(text: str | bytes, known: Knowledge = KNOWN, **answers: object) -> str:
    return report_text(of(text, known, **answers), known)


def heads(text: str) -> list[str]:
    """The first word of every line that starts at the margin."""
    return [line.partition(":")[0] for line in text.splitlines() if line[:1].isupper()]


def test_cause_and_fix_come_before_the_evidence() -> None:
    order = heads(text_of(LOG, strict=True, vllm_release="0.32.0"))
    wanted = ["ROOT CAUSE", "CAUSE", "FIX 1", "EVIDENCE", "VALUES", "NOT OFFERED"]
    assert [order.index(one) for one in wanted] == sorted(order.index(one) for one in wanted)


def test_questions_come_before_the_evidence_and_may_be_passed() -> None:
    text = text_of(LOG)
    order = heads(text)
    assert order.index("STILL NEEDED") < order.index("EVIDENCE")
    assert "--set strict=… " in text
    assert "(usually True)" in text
    assert "--set strict=? tries the next check" in text


@pytest.mark.parametrize("file", SHIPPED_CASES, ids=lambda one: one.parent.name)
def test_prose_keeps_to_the_width(file: Path) -> None:
    known = load()
    for line in text_of(file.read_bytes(), known).splitlines():
        words = line.split()
        exact = line.startswith("    ")  # a snippet or the user's own command
        assert len(line) <= WIDTH or exact or len(max(words, key=len)) > WIDTH - 20, line


def test_evidence_is_short_and_a_repeated_line_is_told_by_its_number() -> None:
    line = "ValueError: Widget size 3 does not divide 8 here"
    text = text_of(f"{line}\nINFO x\n{line}\nINFO y\n{'z' * 9000}\n")
    evidence = text.partition("EVIDENCE")[2].partition("\n\n")[0]
    assert evidence.count("does not divide") == 1
    assert "the same in line 3" in evidence
    assert max(map(len, text.splitlines())) <= WIDTH


def test_only_wrappers_send_the_reader_to_the_other_log() -> None:
    known = Knowledge(
        records=KNOWN.records,
        wrappers=(Wrapper("core", "The widget core has died", where="look into WidgetCore"),),
    )
    text = text_of("RuntimeError: The widget core has died\n", known)
    assert text.startswith("ROOT CAUSE: not in this text")
    assert "look into WidgetCore" in text
    assert "No record covers" not in text
    assert document(of("RuntimeError: The widget core has died\n", known))["fixes"] == []


FRAMES = """\
Traceback (most recent call last):
  File "/opt/x/site-packages/vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py", \
line 400, in _nixl_handshake
    raise RuntimeError("a thing that nobody has written down")
RuntimeError: a thing that nobody has written down
"""


def test_an_error_without_a_record_tells_its_surroundings_and_what_to_collect() -> None:
    text = text_of(FRAMES, load(private=False))
    assert "No record covers this error yet." in text
    assert "OTHER ERRORS of _nixl_handshake" in text
    assert "RECORDS of the same file or part of vLLM" in text
    assert "TO COLLECT" in text


def test_the_guard_is_shown_live_from_the_vllm_that_is_active(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lib" / "python3.12" / "site-packages" / "vllm"
    folder = package / "distributed" / "kv_transfer" / "kv_connector" / "v1" / "nixl"
    folder.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('never imported')\n")
    (folder / "base_worker.py").write_text(
        'if too_late:\n    raise RuntimeError("a thing that nobody has written down")\n'
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    text = text_of(FRAMES, load(private=False))
    assert '>     2 |     raise RuntimeError("a thing that nobody has written down")' in text
    assert "      1 | if too_late:" in text


def test_an_empty_input_and_a_healthy_one_are_told_apart() -> None:
    assert text_of(b"").startswith("NOTHING TO READ")
    assert "this file is empty: x.log" in text_of(b"")
    piped = report(read_sources([Source(read(b"", "-"))], KNOWN), KNOWN)
    assert "the command before the pipe" in report_text(piped, KNOWN)
    healthy = text_of("all is well\n")
    assert healthy.startswith("NO KNOWN TROUBLE in 1 line.")
    assert "kvdoctor diagnose --symptom" in " ".join(healthy.split())


def test_pasted_text_adds_no_line_and_no_escape() -> None:
    text = text_of("ValueError: Widget size 3 does not divide 8 here \x1b[2J\x07\x9b2J‮\n")
    assert not set("\x1b\x07\x9b‮") & set(text)


NO_PATH = 'ValueError: kv_offload_backend="disk" requires disk_path to be set.\n'


def test_an_answer_that_was_asked_for_is_used() -> None:
    shown = of(NO_PATH, load(private=False), vllm_release="0.32.0", disk_path="/nvme/kv")
    assert [one.fix.id for one in shown.fixes] == ["set-path", "memory-instead"]
    assert "disk_capacity_bytes 107374182400, vLLM's default" in shown.fixes[0].fix.proof.note


def test_who_cannot_tell_a_choice_still_gets_cause_and_fix() -> None:
    known = load(private=False)
    text = text_of(NO_PATH, known, vllm_release="0.32.0", disk_path="?")
    assert "\nCAUSE\n" in text
    assert '"disk_path": "<disk_path>"' in text
    assert "UNPROVEN" in text
    pool = "Exception: cpu_bytes_to_use must be specified in kv_connector_extra_config\n"
    text = text_of(pool, known, vllm_release="0.32.0", pool_gib="?")
    assert "--kv-offloading-size '<pool_gib>'" in text
    assert "cannot be decided" not in text


def test_what_a_fix_lacks_is_asked_for() -> None:
    known = load(private=False)
    log = "".join(
        f"{line}\n"
        for line in known.records["nixl-side-channel-port-in-use"].examples[1].log.splitlines()
    )
    text = text_of(log, known, vllm_release="0.26.0")
    assert "FOR THESE FIXES, say" in text
    assert "--set own_address=…" in text
    answered = of(log, known, vllm_release="0.26.0", own_address="10.0.3.17")
    assert "own-host" in [one.fix.id for one in answered.fixes]
    assert "own_address" not in of(log, known, vllm_release="0.26.0", own_address="?").fix_asks


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("nixl-block-size-not-multiple", "AssertionError: Local block size"),
        ("moriio-backend-invalid", "ValueError: Invalid MoRIIO backend"),
    ],
)
def test_a_traceback_without_its_message_is_known_by_its_site(name: str, last: str) -> None:
    known = load(private=False)
    log = next(one.log for one in known.records[name].examples if last in one.log)
    lines = log.splitlines()
    end = next(number for number, line in enumerate(lines) if last in line)
    text = text_of("\n".join(lines[:end]), known)
    assert "cut off before its message" in text.splitlines()[0]
    flat = " ".join(text.split())
    assert f"likely {name} (" in flat
    assert f"--record {name}" in flat
