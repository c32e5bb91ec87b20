"""The command line as a user drives it: in a process of its own, with real streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("cases")
BLOCKS = CASES / "061-nixl-blocksize-d-smaller"
LOG = str(BLOCKS / "decode.log")
HEADS = str(CASES / "103-moriio-hetero-tp-heads" / "log.txt")
HEALTHY = str(CASES / "121-healthy-debug" / "log.txt")
ASKING = """\
id: cli-asks-one-thing
title: A made-up record with one question
status: proven
severity: error
kind: raise
owner: vllm
connectors: []
tags: []
summary: Made up for the tests.
seen_in: []
identify: [{exception: ValueError, message: "the gadget of {size} units is refused here"}]
inputs:
  size: {type: int, ask: the size, minimum: 1, maximum: 64}
  is_warm: {type: bool, ask: is it warm?, find: ask the operator}
checks:
  - {id: warm, when: is_warm, cause: "It is warm, at {size}."}
fixes: {}
examples:
  - {name: x, log: "ValueError: the gadget of 3 units is refused here", expect: {asks: [is_warm]}}
"""
ASKS = b"ValueError: the gadget of 3 units is refused here\n"
FOUND, NO_MATCH, USAGE, NEEDS_ANSWERS = 0, 1, 2, 3


def run(
    *words: str, stdin: bytes | None = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    """kvdoctor with these arguments; ``stdin=None`` closes standard input."""
    started = [sys.executable, "-m", "kvdoctor", *words]
    if stdin is None:
        started = ["sh", "-c", 'exec "$@" <&-', "sh", *started]
    done = subprocess.run(
        started,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "TERM": "dumb", **environment},
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(words, done.returncode, out, err)


@pytest.fixture
def asking(tmp_path: Path) -> tuple[str, ...]:
    """Arguments that diagnose a log whose record has one question."""
    (tmp_path / "cli-asks-one-thing.yaml").write_text(ASKING)
    return ("diagnose", "-", "--knowledge", str(tmp_path))


def test_each_outcome_has_its_exit_status(asking: tuple[str, ...]) -> None:
    assert run("diagnose", LOG).returncode == FOUND
    assert run("diagnose", HEALTHY).returncode == NO_MATCH
    assert run("diagnose", "no-such-file.log").returncode == USAGE
    assert run(*asking, stdin=ASKS).returncode == NEEDS_ANSWERS


def test_a_question_is_answered_or_passed_with_a_flag(asking: tuple[str, ...]) -> None:
    asked = run(*asking, stdin=ASKS)
    assert "STILL NEEDED" in asked.stdout
    assert "--set is_warm=?" in asked.stdout, "how to say that one cannot tell"
    assert run(*asking, "--set", "is_warm=yes", stdin=ASKS).returncode == FOUND
    passed = run(*asking, "--set", "is_warm=?", stdin=ASKS)
    assert "STILL NEEDED" not in passed.stdout
    assert passed.returncode == NO_MATCH
    assert "cannot tell" in " ".join(run("diagnose", "--help").stdout.split())


def test_json_stands_alone_on_standard_output() -> None:
    done = run("diagnose", "--json", LOG)
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert told["findings"][0]["role"] == "root_cause"
    assert told["fixes"][0]["snippet"] == "--block-size 128"


def test_several_inputs_give_a_line_of_json_each() -> None:
    done = run("diagnose", "--json", LOG, HEALTHY)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["input"]["name"] for one in lines] == [LOG, HEALTHY]
    assert [one["diagnosis"]["status"] for one in lines] == ["cause", "no_match"]
    assert done.returncode == FOUND


def test_several_inputs_are_told_apart_in_text() -> None:
    text = run("diagnose", LOG, HEALTHY).stdout
    assert f"==> {LOG} <==" in text
    assert f"==> {HEALTHY} <==" in text


def test_both_sides_are_one_input() -> None:
    decode, prefill = str(BLOCKS / "decode.log"), str(BLOCKS / "prefill.log")
    done = run("diagnose", "--json", "--prefill", prefill, "--decode", decode)
    told = json.loads(done.stdout)
    assert told["input"]["sides"] == {prefill: "prefill", decode: "decode"}
    assert done.returncode == FOUND


def test_one_unreadable_file_does_not_stop_the_others(tmp_path: Path) -> None:
    done = run("diagnose", "--json", LOG, str(tmp_path / "gone.log"), str(tmp_path))
    assert len(done.stdout.splitlines()) == 1
    assert "gone.log" in done.stderr
    assert "Is a directory" in done.stderr or "denied" in done.stderr
    assert done.returncode == USAGE


def test_a_log_comes_through_a_pipe() -> None:
    data = Path(LOG).read_bytes()
    assert run("diagnose", stdin=data).returncode == FOUND
    assert run("diagnose", "-", stdin=data).returncode == FOUND
    shown = run(stdin=data)
    assert shown.returncode == FOUND, "without a terminal the screen never opens"
    assert "ROOT CAUSE" in shown.stdout
    assert "once" in run("diagnose", "-", "-", stdin=data).stderr


def test_an_empty_pipe_says_so() -> None:
    done = run("diagnose")
    assert "empty" in done.stderr
    assert done.returncode == USAGE


def test_closed_standard_input_is_no_crash() -> None:
    for words in (("diagnose",), (), ("--plain",)):
        done = run(*words, stdin=None)
        assert done.returncode == USAGE
        assert "nothing to read" in done.stderr
    assert run("diagnose", LOG, stdin=None).returncode == FOUND


def test_a_reader_that_leaves_is_no_error() -> None:
    script = f"{sys.executable} -m kvdoctor diagnose '{LOG}' | head -1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("ROOT CAUSE")
    assert done.stderr == ""


def test_closed_standard_output_is_an_error_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):  # the home may be read-only
        monkeypatch.setenv(name, str(tmp_path / name))
    for words in (f"diagnose '{LOG}'", f"'{LOG}'", "--version"):
        script = f"{sys.executable} -m kvdoctor {words} >&-"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert done.stderr.startswith("kvdoctor: standard output is closed")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told() -> None:
    for words in (f"diagnose '{LOG}'", f"diagnose --json '{LOG}'", "info", "--version"):
        script = f"{sys.executable} -m kvdoctor {words} > /dev/full"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120)
        assert done.returncode == USAGE, words
        assert done.stderr.startswith("kvdoctor: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("form", [(), ("--note", "slack"), ("--json",)])
def test_a_locale_without_unicode_loses_characters_and_nothing_else(form: tuple[str, ...]) -> None:
    data = "ValueError: größe … → 日本語\n".encode()
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    for name in (HEADS, "-"):
        done = run("diagnose", name, *form, stdin=data, **plain)
        assert done.returncode in (FOUND, NO_MATCH)
        assert done.stdout.isascii()
        if form == ("--json",):
            json.loads(done.stdout)


def test_colour_needs_a_terminal_and_our_own_words() -> None:
    from kvdoctor.intake import read
    from kvdoctor.load import load
    from kvdoctor.report import Source, read_sources, report
    from kvdoctor.show.plain import report_text

    known = load()
    paste = read(b"ValueError: \x1b[41mred\x1b[0m\n" + Path(LOG).read_bytes())
    shown = report(read_sources([Source(paste)], known), known)
    assert "\x1b[1;31mROOT CAUSE" in report_text(shown, known, colour=True)
    assert "\x1b[41m" not in report_text(shown, known, colour=True)
    assert "\x1b" not in report_text(shown, known)
    assert "\x1b" not in run("diagnose", LOG, TERM="xterm-256color").stdout


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    done = run("diagnose", LOG, "--set", "local_block_siz=16")
    assert "did you mean 'local_block_size'" in done.stderr
    done = run("diagnose", LOG, "--set", "no_such_thing_at_all=16")
    assert "remote_block_size" in done.stderr, "the inputs that there are"
    assert "0.33.0" in run("diagnose", LOG, "--set", "vllm_release=0.99.0").stderr


def test_a_name_that_the_record_reads_by_its_side_is_no_mistake() -> None:
    assert run("diagnose", LOG, "--set", "decode.block_size=16").stderr == ""


@pytest.mark.parametrize("given", ["local_block_size=abc", "local_block_size=-4", "vllm_release=x"])
def test_a_wrong_value_is_refused(given: str) -> None:
    done = run("diagnose", LOG, "--set", given)
    assert done.returncode == USAGE
    assert given.partition("=")[0] in done.stderr


def test_an_answer_without_a_value_is_refused() -> None:
    assert "NAME=VALUE" in run("diagnose", LOG, "--set", "local_block_size").stderr


def test_problems_cannot_drive_the_terminal() -> None:
    nasty = "a\x1b]0;owned\x07"
    for words in (("diagnose", LOG, "--set", f"{nasty}=1"), ("explain", nasty), (nasty,)):
        assert "\x1b" not in run(*words).stderr


def test_copying_what_is_not_offered() -> None:
    none = run("diagnose", HEALTHY, "--copy")
    assert "nothing copied" in none.stderr
    assert none.returncode == NO_MATCH
    wrong = run("diagnose", LOG, "--copy", "nonsense")
    assert "match-this-side" in wrong.stderr
    assert wrong.returncode == USAGE


def test_a_file_behind_copy_is_a_file(tmp_path: Path) -> None:
    done = run("diagnose", "--copy", LOG, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == FOUND
    assert (tmp_path / "kvdoctor" / "last-fix.txt").read_text() == "--block-size 128\n"


def test_a_home_that_cannot_be_written_costs_only_the_copy() -> None:
    nowhere = "/proc/nowhere"
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), nowhere)
    done = run("diagnose", LOG, "--copy", **places)
    assert done.returncode == FOUND
    assert "not copied" in done.stderr or "not saved" in done.stderr


def test_a_mistyped_command_is_no_missing_file() -> None:
    done = run("diagnos", LOG)
    assert "did you mean the command 'diagnose'" in done.stderr
    assert done.returncode == USAGE
    assert "no such file" in run("foo.log").stderr


def test_options_of_diagnose_work_without_its_name() -> None:
    assert json.loads(run(LOG, "--json").stdout)["diagnosis"]["status"] == "cause"


def test_a_broken_private_record_is_named_and_the_rest_works(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("id: broken\ntitle: [\n")
    for words, more in (
        (("--knowledge", str(tmp_path)), {}),
        ((), {"KVDOCTOR_KNOWLEDGE": str(tmp_path)}),
    ):
        done = run("diagnose", LOG, "--json", *words, **more)
        assert "broken.yaml:" in done.stderr
        assert json.loads(done.stdout)["diagnosis"]["status"] == "cause"
        assert done.returncode == FOUND
    assert "no such folder" in run("diagnose", LOG, "--knowledge", "/no/where").stderr


def test_a_huge_and_a_binary_file_come_through(tmp_path: Path) -> None:
    binary = tmp_path / "core.bin"
    binary.write_bytes(bytes(range(256)) * 400)
    assert run("diagnose", str(binary)).returncode == NO_MATCH
    hollow = tmp_path / "hollow.log"
    with hollow.open("wb") as stream:
        stream.truncate(40_000_000)
    assert run("diagnose", str(hollow)).returncode == NO_MATCH


def test_explain_and_search_help_on() -> None:
    assert run("explain", "805e537459597a3f").returncode == FOUND
    done = run("explain", "moriio-tp-sizes-positiv")
    assert done.returncode == NO_MATCH
    assert "moriio-tp-sizes-positive" in done.stderr
    assert json.loads(run("explain", "805e537459597a3f", "--json").stdout)["record"]
    assert run("search", "decode", "hangs").returncode == FOUND
    assert run("search", "zzzzqqqq").returncode == NO_MATCH
    assert json.loads(run("info", "--json").stdout)["records"] > 0


def test_a_note_can_hide_the_hosts() -> None:
    data = (
        b"ERROR 11-30 19:57:30 [x.py:1] Connection to 10.1.2.3:5600 failed\n"
        b"zmq.error.ZMQError: no answer from 10.1.2.3\n"
    ) + Path(LOG).read_bytes()
    open_ = run("diagnose", "-", "--note", "plain", stdin=data).stdout
    hidden = run("diagnose", "-", "--note", "plain", "--hide-hosts", stdin=data).stdout
    assert "10.1.2.3" in open_
    assert "10.1.2.3" not in hidden


def test_a_private_record_is_proven_only_with_trust(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[1] / "knowledge" / "records"
    text = next(shipped.rglob("moriio-tp-sizes-positive.yaml")).read_text("utf-8")
    (tmp_path / "my-record.yaml").write_text(
        text.replace("id: moriio-tp-sizes-positive", "id: my-record", 1), "utf-8"
    )
    done = run("prove", "my-record", "--knowledge", str(tmp_path))
    assert done.returncode == USAGE
    assert "--trust" in done.stderr
    trusted = run("prove", "my-record", "--trust", "--knowledge", str(tmp_path))
    assert "private" not in trusted.stderr


def test_a_mistyped_option_is_answered_with_the_right_one() -> None:
    done = run("diagnose", LOG, "--jsn")
    assert done.returncode == USAGE
    assert "did you mean '--json'?" in done.stderr
    assert "did you mean '--thorough'?" in run("scan", LOG, "--through").stderr


def test_the_drawings_stand_below_the_report_when_they_are_asked_for() -> None:
    assert "DRAWINGS" not in run("diagnose", HEADS).stdout
    assert "\nDRAWINGS\n" in run("diagnose", HEADS, "--drawings").stdout


def test_a_healthy_log_and_an_empty_file_name_the_next_step(tmp_path: Path) -> None:
    assert "walk the symptoms" in run("diagnose", HEALTHY).stdout
    (tmp_path / "empty.log").touch()
    assert "this file is empty" in run("diagnose", str(tmp_path / "empty.log")).stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["diagnose", "LOG", "--json", "--note", "markdown"], "--json and --note"),
        (["diagnose", "LOG", "--symptom"], "--symptom reads no log"),
        (["diagnose", "--symptom", "LOG"], "--symptom reads no log"),
    ],
)
def test_what_would_be_dropped_without_a_word_is_refused(arguments: list[str], told: str) -> None:
    done = run(*(LOG if one == "LOG" else one for one in arguments))
    assert done.returncode == 2
    assert told in done.stderr
