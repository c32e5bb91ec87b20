"""What is imported when: the diagnosis needs no screen, and start-up stays cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASE = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log"


def imported_by(code: str) -> set[str]:
    """Names of all modules after ``code`` ran in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stderr.split())


def run_cli(*arguments: str) -> str:
    words = ", ".join(repr(one) for one in arguments)
    return f"from kvdoctor.cli import main\nmain([{words}])"


@pytest.mark.parametrize("heavy", ["textual", "rich", "pyperclip", "asyncio", "sqlite3"])
def test_a_diagnosis_needs_no_screen(heavy: str) -> None:
    assert heavy not in imported_by(run_cli("diagnose", "--json", str(CASE)))


def test_the_version_costs_nothing() -> None:
    loaded = imported_by(run_cli("--version"))
    ours = {name for name in loaded if name.startswith("kvdoctor")}
    assert {name.removeprefix("kvdoctor.") for name in ours} == {
        "kvdoctor", "cli", "command", "command.inputs", "command.registry", "errors",
    }  # fmt: skip
    assert "argparse" not in loaded


def test_a_diagnosis_reads_no_yaml_once_the_compiled_form_is_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # the home may be read-only
    imported_by(run_cli("info", "--json"))
    assert "yaml" not in imported_by(run_cli("diagnose", "--json", str(CASE)))


def test_the_whole_diagnosis_opens_no_socket() -> None:
    denied = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket = refuse\nsocket.create_connection = refuse\n"
    )
    imported_by(denied + run_cli("diagnose", "--json", str(CASE)))
