"""Copying a text, and saying truthfully what was done with it.

tmux's own buffer (which also hands the text to the outer terminal) and, when the session is local,
the native clipboard; when neither took it the terminal's clipboard through OSC 52; always a file.
Only a copy that was confirmed is called "copied": an escape sequence has no acknowledgement, so it
is "sent".

In a browser the text goes to the page, which answers; neither clipboard nor files of the serving
machine are the reader's, so a file is written there only when the page gave no answer.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kvdoctor.data import dataclass
from kvdoctor.folders import home
from kvdoctor.terminal import is_served

HELPER_SECONDS = 2.0  # a helper that hangs (stale display, no seat) must not hang us
OSC52_LIMIT = 74_000  # bytes of text that terminals are known to take in one sequence


@dataclass(frozen=True, slots=True)
class Copied:
    """``ways`` that took the text, best first; ``file`` where it lies in any case ("" when even
    that failed, with ``problem`` saying why); ``confirmed`` when a clipboard holds it for sure.
    ``page``: what the browser's page answered ("copied", "shown"), None where there is none."""

    ways: tuple[str, ...]
    file: str
    confirmed: bool
    problem: str = ""
    page: str | None = None

    @property
    def told(self) -> str:
        """One sentence for the user that claims no more than is known."""
        if self.page is not None:
            return self._told_of_page
        file = _short(self.file)
        where = f"; also in {file}" if file else f"; not saved: {self.problem}"
        if self.confirmed:
            return f"copied to {' and '.join(self.ways)}{where}"
        if self.ways:
            return f"sent to {self.ways[0]} (it does not confirm){where}"
        if self.file:
            return f"no clipboard within reach: saved in {file}"
        return f"not copied: no clipboard within reach, and {self.problem}"

    @property
    def _told_of_page(self) -> str:
        if self.page == "copied":
            return "copied to the browser's clipboard"
        if self.page == "shown":
            return "not copied, the browser refused: the page shows it, to be copied by hand"
        where = (
            f"saved on the serving machine in {_short(self.file)}" if self.file else self.problem
        )
        return f"not copied, the page does not answer: {where}"


def _short(path: str) -> str:
    """A path with the home folder as ~: it must fit on a line of the screen."""
    front = home()
    return f"~{path[len(front) :]}" if path.startswith(front + os.sep) else path


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The user's folder for state that may be lost: last fix, history."""
    env = os.environ if environment is None else environment
    if sys.platform == "win32":
        base = env.get("LOCALAPPDATA")
        return Path(base) / "kvdoctor" if base else Path(home()) / "AppData" / "Local" / "kvdoctor"
    if env.get("XDG_STATE_HOME"):
        return Path(env["XDG_STATE_HOME"]) / "kvdoctor"
    if sys.platform == "darwin":
        return Path(home()) / "Library" / "Application Support" / "kvdoctor"
    return Path(home()) / ".local" / "state" / "kvdoctor"


def copy(
    text: str,
    send_escape: Callable[[str], bool] | None = None,
    page: Callable[[str], str] | None = None,
) -> Copied:
    """Copy ``text`` by every way that is within reach.

    ``send_escape`` writes an escape sequence to the terminal and says whether it could; the screen
    passes its own, so that nothing is written behind its back. ``page`` hands the text to the page
    in the browser and returns its answer: "copied", "shown" or "" for none."""
    if page is not None:
        answer = page(text)
        kept, problem = ("", "") if answer else _save(text)
        way = ("the browser's clipboard",) if answer == "copied" else ()
        return Copied(way, kept, answer == "copied", problem, page=answer)
    ways: list[str] = []
    served = is_served()  # tmux and the clipboard of this machine are not those of the reader
    if not served and _tmux(text):
        ways.append("tmux's buffer")
    if not served and not _is_remote() and _native(text):
        ways.append("the clipboard")
    confirmed = bool(ways)
    if not confirmed and _osc52(text, send_escape or _to_terminal):
        ways.append("the browser's clipboard" if served else "the terminal's clipboard")
    file, problem = _save(text)
    return Copied(tuple(ways), file, confirmed, problem)


def _is_remote() -> bool:
    return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))


def _run(command: Sequence[str], text: str) -> bool:
    """Whether the helper took the text. Its output goes nowhere: some helpers stay behind as a
    daemon and would keep our pipes open, others complain on the user's screen."""
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=HELPER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _tmux(text: str) -> bool:
    if not os.environ.get("TMUX") or not shutil.which("tmux"):
        return False
    return _run(("tmux", "load-buffer", "-w", "-"), text) or _run(
        ("tmux", "load-buffer", "-"), text
    )


def _native(text: str) -> str:
    """The name of the helper that took the text, "" when none did."""
    for needs, command in _helpers():
        if needs and shutil.which(command[0]) and _run(command, text):
            return command[0]
    return _pyperclip(text)


def _helpers() -> list[tuple[bool, tuple[str, ...]]]:
    env = os.environ
    if sys.platform in ("win32", "darwin"):
        return [(sys.platform == "darwin", ("pbcopy",))]
    return [
        (bool(env.get("WAYLAND_DISPLAY")), ("wl-copy",)),
        (bool(env.get("DISPLAY")), ("xclip", "-selection", "clipboard")),
        (bool(env.get("DISPLAY")), ("xsel", "--clipboard", "--input")),
        (bool(env.get("WSL_DISTRO_NAME")), ("clip.exe",)),
    ]


def _pyperclip(text: str) -> str:
    """Systems whose clipboard is an interface and no command (Windows). Elsewhere the commands
    above have been tried with their exit status, which pyperclip does not look at."""
    if sys.platform != "win32":
        return ""
    import pyperclip

    try:
        pyperclip.copy(text)
        taken = pyperclip.paste().replace("\r\n", "\n") == text
    except (pyperclip.PyperclipException, OSError):
        return ""
    return "pyperclip" if taken else ""


def _osc52(text: str, send: Callable[[str], bool]) -> bool:
    data = text.encode()
    if len(data) > OSC52_LIMIT:
        return False
    return send(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07")


def _to_terminal(sequence: str) -> bool:
    """Write to the controlling terminal, past any redirection of the standard streams."""
    if os.environ.get("TERM", "dumb") == "dumb" or sys.platform == "win32":
        return False
    try:
        with open("/dev/tty", "w", encoding="ascii") as terminal:  # noqa: PTH123
            terminal.write(sequence)
    except OSError:
        return False
    return True


def _save(text: str) -> tuple[str, str]:
    """Where the text was saved, and the problem when it was not."""
    try:
        folder = state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = folder / "last-fix.txt"
        fresh = folder / f".last-fix.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
                stream.write(text if text.endswith("\n") else text + "\n")
            fresh.replace(target)
        except OSError:  # a full disk: half a file is nobody's
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        return "", f"the state folder cannot be written ({error})"
    return str(target), ""
