"""``kvdoctor serve`` in a real browser: keys, pastes, the browser's own clipboard, the end."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from browsers import BROWSER, CONTROL, Browser, Tab, browser
from servers import LOG, Served, children, needs_extra

pytestmark = [
    needs_extra,
    pytest.mark.skipif(not BROWSER, reason="NOT TRIED IN A BROWSER: no chromium is installed"),
]
FIX = "--block-size 128"
ACTIVE = "document.activeElement.className"


@asynccontextmanager
async def page(folder: Path, *words: str) -> AsyncIterator[tuple[Served, Browser, Tab]]:
    """The first page of a fresh server, opened at the address that was told."""
    served = await asyncio.to_thread(Served, folder, *words)
    try:
        async with browser(folder / "browser") as one:
            tab = await one.open(served.address)
            yield served, one, tab
            assert tab.wrong == []
    finally:
        served.terminate()
        await asyncio.to_thread(served.communicate, timeout=20)


async def test_from_the_told_address_to_a_copied_fix_without_a_click(tmp_path: Path) -> None:
    async with page(tmp_path, "--decode", str(LOG)) as (served, one, tab):
        await tab.wait_for("never smaller")
        assert await tab.run("location.href") == f"{served.own}/", "the token is out of sight"
        assert await tab.run("document.cookie") == ""
        assert await tab.run(ACTIVE) == "xterm-helper-textarea", "keys reach the terminal"
        await tab.press("y")
        await tab.wait_for("copied to the browser's clipboard")
        assert await tab.clipboard() == FIX
        assert not list(served.state.rglob("last-fix.txt"))
        await tab.ask("Emulation.setDeviceMetricsOverride", width=700, height=400,
                      deviceScaleFactor=1, mobile=False)  # fmt: skip
        await tab.until(lambda: _width(tab) < 80, "a resize")
        before = children(served.pid)
        await tab.ask("Page.reload")
        await tab.until(
            lambda: len(children(served.pid)) == 1 and children(served.pid) != before,
            "one process in place of the other",
        )
        tab.shown = ""
        await tab.wait_for("Give this side the block size of its peer")
        other = await one.open(f"{served.own}/")
        await other.wait_for("never smaller")
        await other.close()
        await tab.press("q", CONTROL)
        await tab.until(lambda: not children(served.pid), "an end of both")
        assert await tab.run("document.querySelector('#ended').open") is True


def _width(tab: Tab) -> int:
    return int([one[1]["width"] for one in tab.sent if one[0] == "resize"][-1])


async def test_a_note_is_a_download_and_on_the_clipboard(tmp_path: Path) -> None:
    async with page(tmp_path, "--decode", str(LOG)) as (served, one, tab):
        folder = tmp_path / "downloads"
        await one.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        await tab.wait_for("never smaller")
        await tab.press("C")
        await tab.wait_for("Copy what?")
        await tab.press("p")
        await tab.wait_for("offered to the browser")
        await tab.until(lambda: bool(list(folder.glob("kvdoctor-*-plain.txt"))), "a download")
        (file,) = folder.glob("kvdoctor-*-plain.txt")
        note = file.read_text(encoding="utf-8")
        assert FIX in note
        assert await tab.clipboard() == note
        assert not list(served.state.rglob("notes/*"))


async def test_a_pasted_and_a_dropped_log_are_diagnosed(tmp_path: Path) -> None:
    async with page(tmp_path) as (_, one, tab):
        await tab.wait_for("drop a file")
        text = json.dumps(LOG.read_text())
        await tab.run(f"navigator.clipboard.writeText({text})")
        await tab.press("v", CONTROL)
        await tab.wait_for("never smaller")
        await tab.press("y")
        await tab.wait_for("copied to the browser's clipboard")
        assert await tab.clipboard() == FIX
        dropped = await one.open(await tab.run("location.href"))
        await dropped.wait_for("drop a file")
        packed = base64.b64encode(gzip.compress(LOG.read_bytes())).decode()
        await dropped.run(
            "const what = new DataTransfer();"
            f"const bytes = Uint8Array.from(atob('{packed}'), (one) => one.charCodeAt(0));"
            "what.items.add(new File([bytes], 'decode.log.gz'));"
            "document.body.dispatchEvent("
            "  new DragEvent('drop', {dataTransfer: what, bubbles: true}))"
        )
        await dropped.wait_for("never smaller")
        assert dropped.wrong == []


async def test_a_text_that_the_browser_refuses_is_shown_to_be_copied_by_hand(
    tmp_path: Path,
) -> None:
    async with page(tmp_path, "--decode", str(LOG)) as (_, _, tab):
        await tab.wait_for("never smaller")
        await tab.run(
            "navigator.clipboard.writeText = () => Promise.reject(new Error());"
            "document.execCommand = () => false"
        )
        await tab.press("y")
        await tab.wait_for("copied by hand")
        assert await tab.run("document.querySelector('#by-hand').open") is True
        assert await tab.run("document.querySelector('#by-hand textarea').value") == FIX
        await tab.run("document.querySelector('#close').click()")
        assert await tab.run(ACTIVE) == "xterm-helper-textarea"
