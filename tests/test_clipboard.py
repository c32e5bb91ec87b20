"""Copying says what was done, and no more: tmux, native helpers, the terminal, a file."""

from __future__ import annotations

import stat
import sys
import time
from pathlib import Path

import pytest

from kvdoctor import clipboard
from kvdoctor.clipboard import copy

pytestmark = pytest.mark.filterwarnings("error")
FIX = "--block-size 128"


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No helper, no display, no multiplexer; an empty folder in front of nothing else."""
    for name in (
        "TMUX",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "WSL_DISTRO_NAME",
        "SSH_CONNECTION",
        "SSH_TTY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "platform", "linux")


def helper(tmp_path: Path, name: str, body: str) -> None:
    """A stand-in for a clipboard program."""
    script = tmp_path / "bin" / name
    script.write_text(f"#!{sys.executable}\nimport sys, time, pathlib\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def taking(tmp_path: Path, name: str) -> Path:
    target = tmp_path / f"{name}.got"
    helper(tmp_path, name, f"pathlib.Path({str(target)!r}).write_text(sys.stdin.read())")
    return target


def deny(sequence: str) -> bool:
    return False


def test_without_any_clipboard_it_is_saved_and_not_called_copied(tmp_path: Path) -> None:
    done = copy(FIX, deny)
    assert not done.confirmed
    assert "no clipboard within reach" in done.told
    assert "copied" not in done.told
    assert Path(done.file).read_text() == FIX + "\n"
    assert stat.S_IMODE(Path(done.file).stat().st_mode) == 0o600


def test_the_terminal_is_told_and_that_is_called_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    done = copy(FIX, lambda code: bool(sent.append(code)) or True)
    assert sent == ["\x1b]52;c;LS1ibG9jay1zaXplIDEyOA==\x07"]
    assert not done.confirmed
    assert done.told.startswith("sent to the terminal's clipboard (it does not confirm)")


def test_a_text_too_long_for_the_terminal_is_not_sent() -> None:
    assert copy("x" * 100_000, lambda code: True).ways == ()


def test_a_native_helper_that_took_it_is_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":1")
    got = taking(tmp_path, "xclip")
    done = copy(FIX, deny)
    assert done.told.startswith("copied to the clipboard; also in ")
    assert got.read_text() == FIX


def test_a_helper_that_fails_is_no_copy_and_the_next_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":99")
    helper(tmp_path, "xclip", "sys.exit('Error: Can not open display: :99')")
    assert not copy(FIX, deny).confirmed
    got = taking(tmp_path, "xsel")
    assert copy(FIX, deny).confirmed
    assert got.read_text() == FIX


def test_a_helper_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":1")
    monkeypatch.setattr(clipboard, "HELPER_SECONDS", 0.3)
    helper(tmp_path, "xclip", "time.sleep(60)")
    began = time.monotonic()
    done = copy(FIX, deny)
    assert time.monotonic() - began < 10
    assert not done.confirmed
    assert done.file


def test_over_ssh_the_other_machines_display_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", "localhost:10.0")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    got = taking(tmp_path, "xclip")
    done = copy(FIX, lambda code: True)
    assert done.ways == ("the terminal's clipboard",)
    assert not got.exists()


def test_in_tmux_its_own_buffer_is_used_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    got = taking(tmp_path, "tmux")
    done = copy(FIX, deny)
    assert done.told.startswith("copied to tmux's buffer")
    assert got.read_text() == FIX


def test_in_tmux_on_a_desktop_both_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    monkeypatch.setenv("DISPLAY", ":1")
    taken = [taking(tmp_path, name) for name in ("tmux", "xclip")]
    assert copy(FIX, deny).told.startswith("copied to tmux's buffer and the clipboard; also in ")
    assert [one.read_text() for one in taken] == [FIX, FIX]


def test_an_old_tmux_without_w_still_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    target = tmp_path / "got"
    helper(
        tmp_path,
        "tmux",
        "if '-w' in sys.argv: sys.exit(1)\n"
        f"pathlib.Path({str(target)!r}).write_text(sys.stdin.read())",
    )
    assert copy(FIX, deny).confirmed
    assert target.read_text() == FIX


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = copy(FIX, deny)
    assert done.file == ""
    assert done.told.startswith("not copied: ")


@pytest.mark.parametrize(
    ("answer", "words", "confirmed"),
    [
        ("copied", "copied to the browser's clipboard", True),
        (
            "shown",
            "not copied, the browser refused: the page shows it, to be copied by hand",
            False,
        ),
        ("", "not copied, the page does not answer: saved on the serving machine in ", False),
    ],
)
def test_in_a_browser_the_page_says_what_became_of_it(
    answer: str, words: str, confirmed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":1")
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    taken = [taking(tmp_path, name) for name in ("tmux", "xclip")]
    done = copy(FIX, lambda code: True, lambda text: answer if text == FIX else "wrong text")
    assert done.told.startswith(words)
    assert done.confirmed is confirmed
    assert bool(done.file) is not bool(answer), "a file only when the page has not got it"
    assert not any(one.exists() for one in taken)


def test_the_home_folder_is_shown_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "~/state/kvdoctor/last-fix.txt" in copy(FIX, deny).told
