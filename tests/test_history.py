"""Past diagnoses: kept without secrets, found again, deleted, and never in the way."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdoctor.cli import main
from kvdoctor.errors import InputError
from kvdoctor.history import keeper, switched_off
from kvdoctor.history.entry import KEPT_HEAD, KEPT_TAIL, HistoryError, Outcome, Place, pack, unpack
from kvdoctor.history.store import Store

LOG = str(Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log")
OUTCOME = Outcome("cause", "Blocks do not divide", "nixl-block-size-not-multiple")
WRITER = """
import sys
from kvdoctor.history.entry import Outcome, Place, pack
from kvdoctor.history.store import Store
store = Store(__import__("pathlib").Path(sys.argv[1]))
for number in range(100000):
    text = f"{number} " + "x" * 5000
    store.add(Outcome("cause", text[:20]), Place(), {}, [pack(text, "a.log", "this")])
    print(number, flush=True)
"""


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KVDOCTOR_HISTORY", raising=False)
    yield tmp_path / "XDG_STATE_HOME" / "kvdoctor"
    while OPENED:
        OPENED.pop().close()


OPENED: list[Store] = []


def store_at(folder: Path) -> Store:
    """A store that is closed at the end of the test."""
    OPENED.append(Store(folder / "history.db"))
    return OPENED[-1]


def test_a_saved_diagnosis_is_listed_shown_opened_and_deleted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["diagnose", "--save", LOG]) == 0
    assert "saved as 1" in capsys.readouterr().err
    assert main(["history"]) == 0
    assert "decode.log" in capsys.readouterr().out
    assert main(["history", "show", "1"]) == 0
    assert "--block-size 128" in capsys.readouterr().out
    assert main(["history", "open", "1", "--json"]) == 0
    opened = json.loads(capsys.readouterr().out)
    assert opened["diagnosis"]["status"] == "cause"
    assert opened["fixes"][0]["snippet"] == "--block-size 128"
    assert main(["history", "delete", "1"]) == 0
    assert main(["history", "show", "1"]) == 1


def test_entries_are_found_by_words_of_their_error(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "--save", LOG])
    capsys.readouterr()
    assert main(["history", "search", "divisible", "remote"]) == 0
    assert main(["history", "search", "no-such-word"]) == 1


def test_a_diagnosis_is_kept_only_when_asked(folders: Path) -> None:
    main(["diagnose", LOG])
    assert not (folders / "history.db").exists()


@pytest.mark.parametrize("value", ["off", "0", "no", "FALSE"])
def test_it_can_be_switched_off(
    value: str,
    folders: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KVDOCTOR_HISTORY", value)
    main(["diagnose", "--save", LOG])
    assert "switched off" in capsys.readouterr().err
    assert not (folders / "history.db").exists()


def test_no_secret_reaches_the_disk(folders: Path, tmp_path: Path) -> None:
    secret = "hf_" + "aB3" * 12
    log = tmp_path / "a.log"
    log.write_text(Path(LOG).read_text("utf-8") + f"HF_TOKEN={secret}\n", "utf-8")
    main(["diagnose", "--save", str(log)])
    one = store_at(folders).entry(1)
    assert one is not None
    assert "HF_TOKEN" in unpack(one.inputs[0])
    assert secret not in unpack(one.inputs[0])
    assert secret.encode() not in (folders / "history.db").read_bytes()


def test_only_the_user_can_read_it(folders: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("the folder's own rights count on Windows")
    store_at(folders).close()
    assert (folders / "history.db").stat().st_mode & 0o077 == 0


def test_a_long_text_keeps_its_ends_and_its_line_numbers() -> None:
    lines = [f"line {number:09}" for number in range((KEPT_HEAD + KEPT_TAIL) // 10)]
    packed = pack("\n".join(lines), "long.log", "this")
    text = unpack(packed).split("\n")
    assert packed.left_out > 0
    assert (len(text), text[0], text[-1]) == (len(lines), lines[0], lines[-1])


def test_a_damaged_text_is_an_error_and_no_crash() -> None:
    packed = pack("text", "a.log", "this")
    for data in (b"", packed.data[:-3], b"\x00" * 40):
        with pytest.raises(HistoryError):
            unpack(type(packed)("a.log", "this", 4, 0, data))


def test_a_damaged_file_is_set_aside_with_a_word(folders: Path) -> None:
    folders.mkdir(parents=True)
    for number, damage in enumerate((b"no database at all" * 100, b"SQLite format 3\x00junk"), 1):
        (folders / "history.db").write_bytes(damage)
        store = store_at(folders)
        assert store.add(OUTCOME, Place(), {}, []) == 1
        assert "set aside" in store.notices[0]
        store.close()
        aside = folders / f"history.db.damaged-{number}"
        assert aside.read_bytes() == damage


def test_damage_found_later_is_set_aside_too(folders: Path) -> None:
    store = store_at(folders)
    store.add(OUTCOME, Place(), {}, [pack("x" * 20000, "a", "this")])
    store.close()
    with sqlite3.connect(folders / "history.db") as made:
        made.execute("UPDATE entries SET outcome = 'no json'")
    made.close()
    again = store_at(folders)
    assert again.entries() == []
    assert "set aside" in again.notices[0]


def test_a_newer_form_is_left_alone(folders: Path) -> None:
    store_at(folders).close()
    with sqlite3.connect(folders / "history.db") as made:
        made.execute("PRAGMA user_version = 99")
    made.close()
    before = (folders / "history.db").read_bytes()
    with pytest.raises(HistoryError, match="newer"):
        store_at(folders)
    assert (folders / "history.db").read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_kill_at_any_moment_loses_at_most_the_last_change(folders: Path) -> None:
    folders.mkdir(parents=True)
    file = folders / "history.db"
    told = 0
    for round_ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(3 + round_ * 2):
                assert writer.stdout.readline()
            time.sleep(0.003 * round_)
            writer.send_signal(signal.SIGKILL)
            told += 3 + round_ * 2 + len(writer.stdout.read().split())
        store = Store(file)
        assert len(store.entries()) >= min(told, 500)
        store.close()
    with sqlite3.connect(file) as made:
        assert made.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    made.close()


def test_two_writers_at_once_lose_nothing(folders: Path) -> None:
    one, two = store_at(folders), store_at(folders)
    for number in range(20):
        (one if number % 2 else two).add(OUTCOME, Place(), {"r": {"n": number}}, [])
    assert [entry.answers["r"]["n"] for entry in one.entries()] == list(reversed(range(20)))


def test_a_clock_that_jumps_back_changes_no_order(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at(folders)
    for time_ in ("2027-01-01 00:00:00", "1999-01-01 00:00:00", "2026-01-01 00:00:00"):
        monkeypatch.setattr("kvdoctor.history.store._now", lambda time_=time_: time_)
        store.add(OUTCOME, Place(), {}, [])
    assert [one.id for one in store.entries()] == [3, 2, 1]
    assert (store.beside(2, -1), store.beside(2, 1), store.beside(0, -1)) == (1, 3, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_told_and_hurts_nothing_else(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from kvdoctor.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        f"sys.exit(main(['diagnose', '--save', {LOG!r}]))"
    )
    file = tmp_path / "out"
    with file.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=out, text=True,
            env={**os.environ}, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0
    assert "--block-size 128" in done.stdout
    assert "no history" in file.read_text()


def test_a_history_that_does_not_answer_in_time_is_told(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "PATIENCE", 0.05)
    told: list[str] = []
    released = threading.Event()
    keeping = keeper.Keeper(told.append)
    assert keeping.ask(lambda _: released.wait(30)) is None
    assert "no answer" in told[0]
    released.set()
    keeping.close()


def test_a_home_that_cannot_be_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["diagnose", "--save", LOG]) == 0
    assert "no history" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["open"], ["open", "x"], ["delete"], ["list", "a"], ["search"], ["open", "1", "2"]]
)
def test_wrong_usage_is_told_with_a_remedy(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", *words]) == 2
    assert capsys.readouterr().err.startswith("kvdoctor: history ") or words[0] == "list"


@pytest.mark.parametrize(("said", "off"), [("off", True), ("0", True), ("on", False), ("", False)])
def test_the_variable_says_on_or_off(said: str, off: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVDOCTOR_HISTORY", said)
    assert bool(switched_off()) is off


def test_a_variable_that_says_neither_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVDOCTOR_HISTORY", "maybe")
    with pytest.raises(InputError, match="neither on nor off"):
        switched_off()
