"""The user's config file: the options that someone wants every time, under the names of the flags.

    knowledge = ["~/records"]     # relative to the file
    theme = "light"
    hide-hosts = true
    history = false

Flags win over the file. TOML is only imported when there is a file to read.
"""

from __future__ import annotations

import os
import sys

from kvdoctor.data import dataclass, replace
from kvdoctor.errors import InputError, did_you_mean
from kvdoctor.folders import config_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

VARIABLE = "KVDOCTOR_CONFIG"
NAME = "config.toml"
LONGEST = 65_536  # bytes; nobody states more, and a log named by mistake is not read
THEMES = ("dark", "light", "high-contrast")


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds when no flag says otherwise. ``file`` is the file that was read, "" for none."""

    knowledge: tuple[str, ...] = ()
    ascii: bool = False
    plain: bool = False
    theme: str = ""  # one of THEMES; "": as the terminal is
    hide_hosts: bool = False
    history: bool = True
    file: str = ""


FIELDS = ("knowledge", "ascii", "plain", "theme", "hide_hosts", "history")
DEFAULTS = Settings()


def config_file() -> str:
    """The file that is read: the one that KVDOCTOR_CONFIG names, else the usual place."""
    return os.environ.get(VARIABLE) or os.path.join(config_folder(), NAME)


def load() -> Settings:
    """The settings of the config file, the defaults when there is none.

    Raises InputError, with file and line, when the file cannot be read, is no TOML, has an unknown
    key or a value of another type; also when KVDOCTOR_CONFIG names a file that is not there."""
    file = config_file()
    try:
        with open(file, "rb") as stream:
            data = stream.read(LONGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(VARIABLE):
            raise InputError(
                "no such config file", file=file, remedy=f"{VARIABLE} names it"
            ) from None
        return DEFAULTS
    except (OSError, ValueError) as error:
        if not os.environ.get(VARIABLE) and _is_out_of_sight(file):
            return DEFAULTS
        why = getattr(error, "strerror", None) or error
        raise InputError(f"the config file cannot be read: {why}", file=file) from error
    if len(data) > LONGEST:
        raise InputError(f"longer than {LONGEST} bytes: not a config file", file=file)
    return replace(DEFAULTS, **_read(data, file), file=file)


def _is_out_of_sight(file: str) -> bool:
    """Whether a folder on the way is closed to this user, so that nobody can tell what is there. A
    file that is seen and cannot be read is another matter: somebody wrote it to be followed."""
    try:
        os.stat(file)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def fill(options: argparse.Namespace) -> None:
    """Give the options that no flag stated (None) the value of the config file or the default, and
    put the file's knowledge folders before those of the flags."""
    names = [name for name in FIELDS if hasattr(options, name)]
    if not names:
        return
    found = load()
    if not found.file and _is_out_of_sight(config_file()):
        say = f"kvdoctor: {config_file()!r} lies in a folder that is closed to you: not looked at"
        print(say, file=sys.stderr)
    for name in names:
        if name == "knowledge":
            options.knowledge = [*found.knowledge, *options.knowledge]
        elif getattr(options, name) is None:
            setattr(options, name, getattr(found, name))


def as_written(name: str) -> str:
    """The name of a setting as it stands in the file and on the command line."""
    return name.replace("_", "-")


def _read(data: bytes, file: str) -> dict[str, Any]:
    """The values of a config file by field name."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # the same parser, before it came with Python
        import tomli as tomllib
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", file=file, line=line, remedy="save it as UTF-8") from None
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), file, text) from None
    except RecursionError:
        raise InputError("nested too deeply", file=file) from None

    def line_of(key: str) -> int:
        return _line_of(key, text, tomllib.loads)

    return {key.replace("-", "_"): _checked(key, stated[key], file, line_of) for key in stated}


def _not_toml(says: str, file: str, text: str) -> InputError:
    import re

    place = re.search(r"\s*\(at (?:line (\d{1,9}), column \d{1,9}|end of document)\)$", says)
    line = 0
    if place:
        says = says[: place.start()]
        line = int(place[1]) if place[1] else text.rstrip().count("\n") + 1
    return InputError(
        f"not TOML: {says}", file=file, line=line, remedy='write NAME = true, or NAME = "text"'
    )


def _line_of(key: str, text: str, parse: Callable[[str], object]) -> int:
    """The line (from 1) on which a top-level key or table begins; 0 when it cannot be told."""
    import re

    begins = re.compile(rf"[ \t]*\[?\[?[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]")
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not begins.match(line):
            continue
        try:
            parse("\n".join(lines[:number]))
        except ValueError:
            continue  # inside a text of several lines
        return number + 1
    return 0


def _checked(key: str, value: Any, file: str, line_of: Callable[[str], int]) -> Any:
    """The value of one key, as Settings holds it. Raises InputError when it does not fit."""
    name = key.replace("-", "_")
    if name not in FIELDS:
        known = [as_written(one) for one in FIELDS]
        remedy = did_you_mean(key, known) or f"known: {', '.join(known)}"
        raise InputError(f"unknown key {key!r}", file=file, line=line_of(key), remedy=remedy)
    if name == "knowledge":
        named = [value] if isinstance(value, str) else value
        if isinstance(named, list) and all(isinstance(one, str) and one for one in named):
            return _folders(named, file)
        wanted = "a folder or a list of folders"
    elif name == "theme":
        if value in THEMES:
            return value
        wanted = f"one of {', '.join(THEMES)}"
    else:
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    shown = repr(value)[:60]
    raise InputError(f"{key} is {shown}", file=file, line=line_of(key), remedy=f"write {wanted}")


def _folders(named: list[str], file: str) -> tuple[str, ...]:
    base = os.path.dirname(os.path.abspath(file))
    return tuple(os.path.join(base, os.path.expanduser(one)) for one in named)
