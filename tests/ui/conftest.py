"""No test of the screen touches the developer's own folders or clipboard."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "KVDOCTOR_KNOWLEDGE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_COLOR", "COLORFGBG", "COLUMNS", "LINES"):  # a screen is drawn alike anywhere
        monkeypatch.delenv(name, raising=False)
