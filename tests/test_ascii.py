"""--ascii: nothing beyond ASCII of ours in any output; the user's own text stays."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from kvdoctor import cli
from kvdoctor.load import load

CASES = Path(__file__).with_name("cases")
KNOWN = load(private=False)
FAILED = str(CASES / "020-simplecpu-disk-no-path" / "log.txt")
LOGS = sorted(str(one) for one in CASES.glob("*/*") if one.suffix in (".log", ".txt"))


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(cli, "load_knowledge", lambda folders: KNOWN)


def printed(*words: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        cli.main(words)
    return out.getvalue() + err.getvalue()


def foreign(text: str, *files: str) -> set[str]:
    """Characters beyond ASCII that no input has."""
    given = "".join(Path(one).read_text("utf-8", "replace") for one in files)
    return {one for one in text if not one.isascii() and one not in given}


@pytest.mark.parametrize("file", LOGS, ids=lambda one: one.partition("cases/")[2])
def test_a_report_with_its_drawings_is_ascii_for_every_case(file: str) -> None:
    assert not foreign(printed("--plain", "--ascii", "--no-history", file), file)


@pytest.mark.parametrize("form", ["--json", "markdown", "slack", "plain", "issue"])
def test_documents_and_notes_are_ascii(form: str) -> None:
    for file in LOGS[::12]:
        words = [form] if form == "--json" else ["--note", form]
        assert not foreign(printed("diagnose", file, "--ascii", *words), file)


def test_lists_and_lookups_are_ascii() -> None:
    for words in (
        ("scan", *LOGS[::12], "--ascii", "--top", "20"),
        ("explain", "nixl-handshake-no-reply", "--ascii"),
        ("explain", "offloading-cpu-bytes-missing", "--ascii"),
        ("search", "block", "size", "--ascii"),
        ("info", "--ascii"),
        ("diagnose", LOGS[0], "--ascii", "--save"),
        ("history", "--ascii"),
        ("history", "show", "1", "--ascii"),
        ("history", "open", "1", "--ascii"),
    ):
        text = printed(*words)
        assert text, words
        assert text.isascii(), (words, foreign(text))


def test_the_text_of_the_user_stays(tmp_path: Path) -> None:
    log = tmp_path / "größe.log"
    log.write_text("ValueError: 钥匙 größe… failed\n", "utf-8")
    text = printed("diagnose", str(log), "--ascii")
    assert "钥匙 größe" in text
    told = json.loads(printed("diagnose", str(log), "--ascii", "--json"))
    assert told["findings"][0]["evidence"][0]["text"] == "ValueError: 钥匙 größe… failed"


def test_the_switch_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config.toml"
    config.write_text("ascii = true\n")
    monkeypatch.setenv("KVDOCTOR_CONFIG", str(config))
    assert "…" not in printed("diagnose", FAILED)
    assert "…" in printed("diagnose", FAILED, "--no-ascii")
