"""A pasted or typed path: the file of that name is offered to be read, never read by itself."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from kvdoctor.terminal import clean, is_served

if TYPE_CHECKING:
    from textual.app import App

    from kvdoctor.ui.app import KvdoctorApp

    Base = App[int]
else:
    Base = object

LONGEST = 4096  # bytes that a path may have
ENDINGS = (".log", ".txt", ".gz", ".yaml", ".yml", ".json", ".out", ".err")


def path_in(text: str) -> str:
    """The path that a text of one line may be: without quotes, ``file://`` or a shell's
    backslashes, as terminals write a dropped file. "" for a text that cannot be one."""
    line = text.strip()
    if not line or len(line) > LONGEST or not line.isprintable():
        return ""
    if line[0] in "'\"" and line[-1] == line[0] and len(line) > 2:
        line = line[1:-1]
    elif line.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        line = unquote(urlsplit(line).path)
    elif not os.path.lexists(line):
        line = re.sub(r"\\(.)", r"\1", line) if os.sep == "/" else line
    return os.path.expanduser(line) if line.startswith("~") else line  # noqa: PTH111 (no home: as it is)


def looks_like_path(line: str) -> bool:
    """Whether a line that names no file was still meant as one."""
    if any(sign.isspace() for sign in line):
        return False
    return line.startswith(("/", "./", "../", "~/")) or line.lower().endswith(ENDINGS)


def plain_file(name: str) -> tuple[Path | None, str]:
    """The file of this name if it is one to read, and what is wrong otherwise ("" when there is
    nothing of the name)."""
    try:
        found = Path(name).stat()
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISDIR(found.st_mode):
        return None, "is a folder: name a file in it"
    if not stat.S_ISREG(found.st_mode):
        return None, "is no plain file and is not read"
    if not os.access(name, os.R_OK):
        return None, "may not be read by you"
    return Path(name), ""


class Offering(Base):
    """``offered``: the file that enter would read."""

    offered: Path | None

    @property
    def _offering(self) -> KvdoctorApp:
        from kvdoctor.ui.app import the_app

        return the_app(self)

    def offer_path(self, text: str) -> bool:
        """Whether the text is a path and so no log; says what enter would do. In a browser the
        files are those of another machine: nothing is offered."""
        me = self._offering
        self.offered = None
        line = "" if is_served() else path_in(text)
        if not line:
            return False
        file, problem = plain_file(line)
        name = clean(line)
        if file is None and not problem and not looks_like_path(line):
            return False
        self._show_path(line)
        if file is None:
            me.say(f"{name} {problem or 'is no file here: paste its text instead'}", True)
            return True
        self.offered = file
        me.say(f"{name} is a file here, {file.stat().st_size:,} bytes: enter reads it")
        me.show_keys()
        return True

    def _show_path(self, line: str) -> None:
        from kvdoctor.ui.panes.start import StartPane

        self.query_one(StartPane).name_file(line, self._offering.adding)

    def action_take_offered(self) -> None:
        """Read the file that was offered."""
        from kvdoctor.command.inputs import read_bytes
        from kvdoctor.errors import KvdoctorError
        from kvdoctor.ui.app import Pending

        me, file = self._offering, self.offered
        self.offered = None
        if file is None or plain_file(str(file))[0] is None:
            me.say("the file is gone", True)
            return
        try:
            data = read_bytes(str(file))
        except KvdoctorError as error:
            me.say(str(error), True)
            return
        if not data.strip():
            me.say(f"{clean(str(file))} is empty", True)
            return
        if me.touring and not me.adding:
            me.end_tour()
        me.read_inputs((Pending(str(file), "this", data),))
