"""Where the user's own files live, by the customs of each system."""

from __future__ import annotations

import os
import sys


def config_folder() -> str:
    """The user's folder for what they state: the config file, private records."""
    return user_folder("XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA")


def cache_folder() -> str:
    """The user's folder for what can be made anew."""
    return user_folder("XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA")


def user_folder(variable: str, usual: str, mac: str, windows: str) -> str:
    """kvdoctor's own folder of one kind: named by ``variable``, else where the system keeps it."""
    if os.environ.get(variable):
        return os.path.join(os.environ[variable], "kvdoctor")
    if sys.platform == "win32" and os.environ.get(windows):
        return os.path.join(os.environ[windows], "kvdoctor")
    inside = mac if sys.platform == "darwin" else usual
    return os.path.join(os.path.expanduser("~"), inside, "kvdoctor")
