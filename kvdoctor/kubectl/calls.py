"""Runs kubectl: argument lists and never a shell, with limits of time and size.

Names come from the command line and from the cluster; both are checked before they are arguments.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from kvdoctor.data import dataclass
from kvdoctor.errors import InputError
from kvdoctor.terminal import clean

LARGEST = 256 * 1024 * 1024  # bytes of one answer; the rest is left out
TOLD = 2000  # characters of kubectl's own words

# What the API server itself allows (RFC 1123); each begins with a letter or digit, so that none
# can be taken for an option.
_POD = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SELECTOR = re.compile(r"[A-Za-z0-9!(][A-Za-z0-9_./!=,() -]{0,2000}")
_SINCE = re.compile(r"(?:[0-9]{1,9}(?:h|m|s|ms))+")


# The head of a record of kubectl's own log: E1201 07:00:00.123456    1234 memcache.go:265]
_LOGGED = re.compile(r"[EWIF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} {1,9}\d{1,9} [\w.-]{1,80}:\d{1,6}\] ")


@dataclass(frozen=True, slots=True)
class Answer:
    """What kubectl printed. ``cut``: the answer was longer than LARGEST."""

    data: bytes
    cut: bool = False


class KubectlError(InputError):
    """kubectl is missing, failed or did not answer."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls for one namespace of one cluster. ``seconds`` limits each call."""

    program: str
    where: tuple[str, ...] = ()
    seconds: float = 60.0

    def run(self, *words: str) -> Answer:
        """The standard output of ``kubectl words…``. Raises KubectlError."""
        what = f"kubectl {' '.join(words[:2])}"
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [self.program, *self.where, *words],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                    start_new_session=sys.platform != "win32",  # so that _end reaches its helpers
                )  # fmt: skip
            except OSError as error:
                why = error.strerror or str(error)
                raise KubectlError(f"{what} cannot be started: {why}", file=self.program) from error
            data, late = _read(process, self.seconds)
            said.seek(0)
            words_of_kubectl = said.read(TOLD * 4).decode("utf-8", "replace")
        if late:
            raise KubectlError(
                f"{what} gave no answer within {self.seconds:g} s", remedy="--timeout SECONDS waits"
            )
        cut = len(data) > LARGEST
        if process.returncode and not cut:
            told = _told(words_of_kubectl) or f"exit status {process.returncode}"
            raise KubectlError(f"{what} failed: {told}")
        return Answer(data[:LARGEST], cut)


def _read(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bool]:
    """What the process prints, and whether it was ended for being late."""
    late = threading.Event()

    def end() -> None:
        late.set()
        _end(process)

    clock = threading.Timer(seconds, end)
    clock.daemon = True
    clock.start()
    try:
        assert process.stdout is not None  # noqa: S101
        with process.stdout as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            _end(process)
        process.wait()
    finally:
        clock.cancel()
        if process.poll() is None:
            _end(process)
            process.wait()
    return data, late.is_set()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End kubectl and what it started (sign-in helpers): they hold its output open too."""
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _told(text: str) -> str:
    """kubectl's own words on one line: what it says to people. The records of its own log, which
    repeat one complaint for every try, only count where there is nothing else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not _LOGGED.match(line)]
    if not said:
        said = list(dict.fromkeys(_LOGGED.sub("", line) for line in lines))
    return clean(" ".join(" ".join(said).split()))[:TOLD]


def find_kubectl() -> str:
    """The program's path. Raises KubectlError when it is not on PATH."""
    found = shutil.which("kubectl")
    if found is None:
        raise KubectlError("kubectl is not on PATH", remedy="install it, or extend PATH")
    return found


def where(namespace: str, context: str, kubeconfig: str) -> tuple[str, ...]:
    """The options that name cluster and namespace. Raises InputError for what is no name."""
    words: list[str] = []
    if namespace:
        words.append(f"--namespace={checked(namespace, 'namespace', _LABEL)}")
    for name, value in (("context", context), ("kubeconfig", kubeconfig)):
        if "\0" in value or not value.isprintable():
            raise InputError(f"--{name}: no name", remedy="give a plain name")
        if value:
            words.append(f"--{name}={value}")
    return tuple(words)


def pod_name(name: str) -> str:
    """A pod's name, also given as pod/NAME. Raises InputError for what cannot be one."""
    for before in ("pod/", "pods/", "po/"):
        name = name.removeprefix(before)
    return checked(name, "pod", _POD)


def container_name(name: str) -> str:
    """A container's name. Raises InputError for what cannot be one."""
    return checked(name, "container", _LABEL)


def selector(text: str) -> str:
    """A label selector. Raises InputError for what cannot be one."""
    return checked(text, "selector", _SELECTOR)


def since(text: str) -> str:
    """A span of time as kubectl takes it. Raises InputError for what cannot be one."""
    return checked(text, "time", _SINCE)


def checked(text: str, what: str, form: re.Pattern[str]) -> str:
    """The text when it has the form. Raises InputError otherwise."""
    if not form.fullmatch(text):
        remedy = "kubectl get pods lists them" if what == "pod" else ""
        raise InputError(f"{text[:80]!r} is no {what}", remedy=remedy)
    return text
