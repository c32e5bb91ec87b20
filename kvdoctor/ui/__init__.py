"""The full screen. Importing this package does not import Textual; ``run_screen`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run_screen(options: argparse.Namespace) -> int:
    """Open the screen on the named inputs (or on a pipe); returns the exit status.

    Garbage collection waits until the first paint: importing Textual makes many objects and frees
    none, and a collection in between costs a tenth of the start."""
    import gc

    gc.disable()
    from kvdoctor.ui.launch import launch

    return launch(options)
