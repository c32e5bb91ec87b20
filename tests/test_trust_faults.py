"""Faults of the machine: each has a clear outcome, and the diagnosis goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz import hostile

from kvdoctor.cli import main
from kvdoctor.load import load

CASE = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log"
STARTED = [sys.executable, "-m", "kvdoctor", "diagnose", "--json", str(CASE)]
RECORD = "nixl-block-size-not-multiple"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and users")


def environment(folder: Path, **more: str) -> dict[str, str]:
    folders = {
        name: str(folder / name)
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA",
                     "APPDATA", "HOME")
    }  # fmt: skip
    return {**os.environ, **folders, "TERM": "dumb", **more}


def diagnosed(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        STARTED, capture_output=True, env=environment(folder, **more), timeout=120, check=False,
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0 and f'"{RECORD}"' in done.stdout, done.stderr
    return done


def cached(folder: Path) -> list[Path]:
    return [one for one in (folder / "XDG_CACHE_HOME").rglob("*") if one.is_file()]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder of a user's own records: it is compiled into the cache, which then can break."""
    folder = tmp_path / "own"
    folder.mkdir()
    text = hostile.BASE.format(**hostile.USUAL)
    (folder / "hostile-record.yaml").write_text(text, encoding="utf-8")
    return folder


def _noise(data: bytes, at: float) -> bytes:
    """``data`` with 40 bytes of it changed."""
    place = int(len(data) * at)
    return data[:place] + bytes(255 - one for one in data[place : place + 40]) + data[place + 40 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "other": lambda data: b"not a cache at all\n" * 20,
    "header": lambda data: b"{}\n" + data,
    "noise-in-the-header": lambda data: _noise(data, 0.1),
    "noise-in-a-record": lambda data: _noise(data, 0.9),
    "a-digit": lambda data: data.replace(b"3", b"4"),
}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_cache_that_is_damaged_anywhere_is_made_anew(
    damage: str, tmp_path: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("kvdoctor.load.shipped_folder", lambda: str(private))
    whole = load(private=False)
    (file,) = [one for one in cached(tmp_path) if one.suffix == ".kvd"]
    good = file.read_bytes()
    file.write_bytes(DAMAGES[damage](good))
    again = load(private=False)
    assert dict(again.records) == dict(whole.records)
    assert again.problems == whole.problems == ()
    assert file.read_bytes() == good


@POSIX
def test_killed_at_any_moment_it_leaves_a_cache_that_works(tmp_path: Path, private: Path) -> None:
    for delay in (0.05, 0.1, 0.2, 0.3):
        process = subprocess.Popen(
            STARTED, env=environment(tmp_path, KVDOCTOR_KNOWLEDGE=str(private)),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(delay)
        process.kill()
        process.wait()
    diagnosed(tmp_path, KVDOCTOR_KNOWLEDGE=str(private))


def test_several_at_once_build_the_same_cache(tmp_path: Path, private: Path) -> None:
    own = environment(tmp_path, KVDOCTOR_KNOWLEDGE=str(private))
    several = [
        subprocess.Popen(STARTED, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    outs = [one.communicate(timeout=120) for one in several]
    assert [one.returncode for one in several] == [0, 0, 0], outs
    assert len({out for out, _ in outs}) == 1
    assert all(not one.suffix[1:].isdigit() for one in cached(tmp_path)), "nothing half written"


def test_a_clock_that_jumps_does_not_keep_an_old_record(tmp_path: Path, private: Path) -> None:
    file = private / "hostile-record.yaml"
    for stamp in (4_000_000_000, 1):  # the years 2096 and 1970
        os.utime(file, (stamp, stamp))
        diagnosed(tmp_path, KVDOCTOR_KNOWLEDGE=str(private))
    file.write_text("broken: [\n")
    os.utime(file, (1, 1))
    assert "hostile-record.yaml" in diagnosed(tmp_path, KVDOCTOR_KNOWLEDGE=str(private)).stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "xx_XX.bogus"])
def test_a_missing_locale_changes_nothing(tmp_path: Path, locale: str) -> None:
    done = diagnosed(tmp_path, LC_ALL=locale, LANG=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert "kvdoctor:" not in done.stderr


@POSIX
def test_a_stop_by_signal_is_silent_and_has_its_status(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kvdoctor", "diagnose", "-"], env=environment(tmp_path),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdin is not None
    # more than a pipe holds: it is written when the other end reads, and then waits for more
    process.stdin.write(b"INFO a line of a log\n" * 50_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in err


@POSIX
def test_a_storm_of_resizes_does_not_stop_the_screen(tmp_path: Path) -> None:
    from terminals import Terminal

    terminal = Terminal([str(CASE)], environment(tmp_path, TERM="xterm-256color"))
    try:
        terminal.wait_for("--block-size 128")
        for _ in range(300):
            os.kill(terminal.pid, signal.SIGWINCH)
        terminal.send("\x11")
        assert terminal.ended() == 0
    finally:
        terminal.close()


def _powerless() -> list[str]:
    """What takes from root the power to read what it may not; nothing for other users."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    return [tool, "--bounding-set", "-dac_override,-dac_read_search"] if tool else []


@POSIX
@pytest.mark.parametrize("mode", [0o000, 0o500], ids=["unreadable", "read-only"])
def test_a_home_that_is_closed_costs_nothing_but_the_cache(mode: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    own = {k: v for k, v in environment(tmp_path).items() if not k.startswith("XDG_")}
    own["HOME"] = str(home)
    home.chmod(mode)
    prefix = _powerless()
    probe = [*prefix, "touch", str(home / "x")]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        pytest.skip("this user may write everywhere")
    for words in (STARTED, [*STARTED, "--note", "plain", "--copy"]):
        words = [one for one in words if one != "--json"] if "--note" in words else words
        done = subprocess.run(
            [*prefix, *words], capture_output=True, env=own, timeout=120, check=False
        )
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
        assert b"--block-size" in done.stdout
    assert b"not saved" in done.stderr or b"not copied" in done.stderr
    home.chmod(0o700)
    assert list(home.iterdir()) == []


def test_a_user_without_any_home_leaves_and_reads_nothing_in_the_working_folder(
    tmp_path: Path,
    private: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A container's bare user id: no HOME, no entry among the users, "~" stays "~"."""
    for name in environment(tmp_path):
        if name.startswith("XDG_") or name in ("HOME", "LOCALAPPDATA", "APPDATA"):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    planted = tmp_path / "here" / "~" / ".config" / "kvdoctor" / "knowledge"
    planted.mkdir(parents=True)
    (planted / "planted.yaml").write_text("broken: [")
    (planted.parent / "config.toml").write_text("broken")
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("KVDOCTOR_KNOWLEDGE", str(private))
    for words in (
        ["diagnose", "--json", str(CASE)], ["diagnose", "--save", "--copy", str(CASE)],
        ["info"], ["scan", str(CASE)], ["prove", RECORD, "--python", "~/none"],
    ):  # fmt: skip
        main(words)
        assert "broken" not in capsys.readouterr().err
    assert main(["history"]) == 2
    assert "no history" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_what_is_written_out_is_told_with_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["scan", str(CASE), "--open", "1", "--out", "/dev/full"]) == 2
    assert "/dev/full: not written" in capsys.readouterr().err


def test_a_note_and_a_fix_that_a_full_disk_cuts_off_leave_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvdoctor.clipboard import _save
    from kvdoctor.ui.copying import write_note

    def full(descriptor: int, *_: object, **__: object) -> None:
        os.close(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fdopen", full)
    assert write_note("text", "note.md") == ("", "No space left on device")
    file, problem = _save("--block-size 128")
    assert file == "" and "No space left" in problem
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]
