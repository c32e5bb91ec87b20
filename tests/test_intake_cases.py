"""Every real log of the collection is read so that its root failure can be found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzz.pipeline import shipped

from kvdoctor.intake import read
from kvdoctor.intake.paste import Paste

CASES = Path(__file__).parent / "cases"
FOLDERS = sorted(path.parent for path in CASES.glob("*/expect.yaml"))


def _expected(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "expect.yaml").read_text("utf-8"))  # type: ignore[no-any-return]


def _paste(folder: Path, name: str) -> Paste:
    path = folder / name
    if not path.exists():
        path = folder / f"{name}.gz"  # the long log is kept compressed
    return read(path.read_bytes(), name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_expected_failure_of_a_real_log_is_among_what_was_read(folder: Path) -> None:
    want = _expected(folder)
    paste = _paste(folder, want["log_file"])
    if want["kind"] == "healthy":
        assert not [f for f in paste.failures if f.level in ("ERROR", "CRITICAL")]
        return
    if want["kind"] == "log":
        texts = [f"{r.native} {r.message}".strip() for r in paste.records]
        assert want["message"] in texts
        return
    fits = [
        failure
        for failure in paste.failures
        if failure.exception == want["exception"] and failure.message == (want["message"] or "")
    ]
    assert fits, [(f.form, f.exception, f.message[:200]) for f in paste.failures]
    if "site not in the log" in want.get("note_site", "") or not want["file"]:
        assert fits[0].raised == want.get("raised", "")
        assert fits[0].header == want["header"]
    else:
        wanted = (want["file"], want["function"], want["line"])
        places = [(f.module, f.function, f.line) for fit in fits for f in fit.frames[-1:]]
        assert wanted in places
    assert want.get("process", "") in [fit.process for fit in fits]
    if "log_line" in want:
        assert want["log_line"] in [fit.number for fit in fits]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_no_traceback_of_a_real_log_is_cut_or_left_over(folder: Path) -> None:
    for path in [*folder.glob("*.log"), *folder.glob("*.txt")]:
        paste = _paste(folder, path.name)
        blocks = path.read_text("utf-8").count("Traceback (most recent call last)")
        whole = [f for f in paste.failures if f.form in ("traceback", "pydantic") and f.frames]
        assert len(whole) == blocks
        assert not [f for f in paste.failures if f.form == "cut"]


RERUNS = sorted((Path(__file__).parent / "reruns").glob("*/*.log"))


@pytest.mark.parametrize("log", RERUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_log_of_an_unchanged_release_is_not_called_patched(log: Path) -> None:
    release = read(log.read_bytes(), log.name, knowledge=shipped().reading).release
    assert not release.patched
    assert release.release in ("0.32.0", "")
