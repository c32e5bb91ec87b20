"""Where the user's own files live, by the customs of each system."""

from __future__ import annotations

import os
import sys

# Stands for the home of a user who has none (a container's bare user id): nothing can lie or be
# made there, whereas "~" would be a folder of the working directory.
NO_HOME = os.path.join(os.devnull, "no-home-folder")


def home() -> str:
    """The user's home folder, :data:`NO_HOME` when nothing tells it."""
    found = os.path.expanduser("~")
    return NO_HOME if found.startswith("~") else found


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
    return os.path.join(home(), inside, "kvdoctor")
