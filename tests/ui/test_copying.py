"""The copy menu, and notes that are written to files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import LOG, SIZES, app, settled, told, until

from kvdoctor.ui.copying import CopyScreen, write_note


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("y", "--widget-size 8\n"),
        ("e", LOG),
        ("x", "kvdoctor explain widget-sizes-differ\n"),
        ("k", "kvdoctor prove widget-sizes-differ --fix equal "),
    ],
)
async def test_each_letter_copies_its_text(
    size: tuple[int, int], key: str, text: str, tmp_path: Path
) -> None:
    screen = app(LOG, answers={"strict": "yes"})
    file = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt"
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "cause")
        await pilot.press("C")
        await until(pilot, lambda: isinstance(screen.screen, CopyScreen), "the menu")
        await pilot.press(key)
        await told(pilot, "last-fix.txt")
        assert file.read_text().startswith(text)


@pytest.mark.parametrize("size", SIZES)
async def test_a_note_is_written_and_copied(
    size: tuple[int, int], here: Path, tmp_path: Path
) -> None:
    screen = app(LOG)
    async with screen.run_test(size=size) as pilot:
        await settled(pilot, "values")
        await pilot.press("tab", "C")
        await until(pilot, lambda: isinstance(screen.screen, CopyScreen), "the menu")
        await pilot.press("m")
        await told(pilot, "written to")
    notes = tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "notes"
    note = (notes / "kvdoctor-widget-sizes-differ-markdown.md").read_text()
    assert list(here.iterdir()) == [], "nothing is left where the program was started"
    assert "open questions" in note
    assert (tmp_path / "XDG_STATE_HOME" / "kvdoctor" / "last-fix.txt").read_text() == note


def test_a_note_never_replaces_a_file(here: Path) -> None:
    first, _ = write_note("one\n", "note.md")
    second, _ = write_note("two\n", "note.md")
    assert Path(first).read_text() == "one\n"
    assert Path(second).read_text() == "two\n"
    assert Path(second).name == "note-2.md"


def test_where_no_state_can_be_written_the_current_folder_takes_the_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    file, problem = write_note("one\n", "note.md")
    assert problem == ""
    assert Path(file).parent == here
