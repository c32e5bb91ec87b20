"""Pastes are cut out of the terminal's input whole, whatever they hold."""

from __future__ import annotations

import pytest
from textual import events

from kvdoctor.ui.fastpaste import END, START, FastPasteParser

COLOURED = "\x1b[31mERROR\x1b[0m q\x1b[200 \x1bOP x\r\nnext \x1b[A"


def fed(*pieces: str) -> list[events.Event]:
    parser = FastPasteParser()
    found = [one for piece in pieces for one in parser.feed(piece)]
    return [one for one in found if isinstance(one, events.Event)]


def pasted(found: list[events.Event]) -> list[str]:
    return [one.text for one in found if isinstance(one, events.Paste)]


def keys(found: list[events.Event]) -> list[str]:
    return [one.key for one in found if isinstance(one, events.Key)]


def test_escape_bytes_in_a_paste_neither_leave_it_nor_become_keys() -> None:
    found = fed(f"{START}{COLOURED}{END}")
    assert pasted(found) == [COLOURED]
    assert keys(found) == []


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_a_paste_in_pieces_of_any_size_is_one_paste(size: int) -> None:
    whole = f"{START}{COLOURED}{END}"
    found = fed(*(whole[at : at + size] for at in range(0, len(whole), size)))
    if size >= 3:
        assert pasted(found) == [COLOURED]
        assert keys(found) == []


def test_keys_before_and_after_a_paste_stay_keys() -> None:
    found = fed("a", f"{START}one{END}", "b", "\x1b[A")
    assert pasted(found) == ["one"]
    assert keys(found) == ["a", "b", "up"]


def test_a_paste_that_the_terminal_did_not_mark_is_no_series_of_keys() -> None:
    text = "ERROR quit\rquit quit quit quit quit quit quit\r" * 3
    found = fed(text, "quit")
    assert "".join(pasted(found)) == text.replace("\r", "\n") + "quit"
    assert keys(found) == []


def test_fast_typing_stays_typing() -> None:
    found = fed("yes\r", "quick answer without an end of line that is rather long in one read")
    assert pasted(found) == []
    assert keys(found)[:4] == ["y", "e", "s", "enter"]
