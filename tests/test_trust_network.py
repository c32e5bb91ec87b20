"""Nothing but ``prove``, ``kubectl`` and the optional server ever leaves the machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from screens import LOG, app, settled

from kvdoctor.cli import main
from kvdoctor.show.note import FORMATS

CASE = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log"


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every way to reach another machine, refused and written down."""
    asked: list[str] = []

    def refuse(*words: object, **_: object) -> None:
        asked.append(repr(words[1:]))
        raise AssertionError("the network was asked for")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("create_connection", "getaddrinfo", "gethostbyname", "gethostbyaddr"):
        monkeypatch.setattr(socket, name, refuse)
    return asked


def test_what_is_denied_is_really_denied(denied: list[str]) -> None:
    with pytest.raises(AssertionError):
        socket.create_connection(("127.0.0.1", 9), timeout=0.1)
    assert denied


@pytest.mark.parametrize("form", FORMATS)
def test_a_note_asks_nobody(
    form: str, denied: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(CASE), "--note", form, "--hide-hosts"]) == 0
    assert capsys.readouterr().out
    assert denied == []


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", str(CASE), "--json"],
        ["explain", "nixl-block-size-not-multiple"],
        ["search", "block", "size"],
        ["info"],
        ["diagnose", "--symptom"],
    ],
)
def test_the_commands_ask_nobody(
    words: list[str], denied: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    assert denied == []


async def test_the_screen_asks_nobody(denied: list[str]) -> None:
    screen = app(LOG, answers={"strict": "yes"})
    async with screen.run_test() as pilot:
        await settled(pilot, "cause")
        for key in ("v", "escape", "n", "escape", "l", "escape", "enter", "escape"):
            await pilot.press(key)
        assert screen.is_running
    assert denied == []
