"""Every screen in every look is drawn as it was kept (tests/ui/pictures.py draws them anew)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "kvdoctor_pictures", Path(__file__).with_name("pictures.py")
)
assert SPEC is not None and SPEC.loader is not None
pictures = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = pictures
SPEC.loader.exec_module(pictures)

MADE_UP = [one for one in pictures.pictures() if not one[1].startswith("real-")]


@pytest.mark.parametrize(("file", "name", "theme", "size"), MADE_UP)
async def test_a_screen_looks_as_it_was_kept(
    file: str, name: str, theme: str, size: tuple[int, int]
) -> None:
    kept = (pictures.FOLDER / file).read_text(encoding="utf-8")
    drawn = await pictures.draw(name, theme, size)
    before, now = pictures.content(kept), pictures.content(drawn)
    assert len(before) > 5, "the kept drawing has text"
    gone = [one for one in before if one not in now]
    come = [one for one in now if one not in before]
    assert (gone, come) == ([], []), "python tests/ui/pictures.py draws it anew; look at it first"


def test_a_change_of_style_alone_is_seen() -> None:
    kept = (pictures.FOLDER / "cause-dark.svg").read_text(encoding="utf-8")
    other = kept.replace(";font-weight: bold }", " }", 1)
    assert pictures.content(kept) != pictures.content(other)
