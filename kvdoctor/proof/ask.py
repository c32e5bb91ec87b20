"""Runs ``runner.py`` with another interpreter and reads its answers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from kvdoctor.data import dataclass, field

RUNNER = Path(__file__).resolve().parent / "runner.py"
CALLERS = RUNNER.parent / "callers"
STEP = 0.2  # seconds after which a stop is heeded
CHUNK = 65_536  # bytes read at once, and kept of what goes to the error stream
MOST_PRINTED = 16_000_000  # bytes of answers, beside MOST_TIMES what was asked
MOST_TIMES = 64
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "OMP_NUM_THREADS": "1",
}
_GUARD = re.compile(r"^@guard\((.*?)\)\s*^def ", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one run of the runner said. ``failure`` is "" or one of: start, timeout, stopped,
    no-import, broken-off; ``detail`` then holds the end of what was printed."""

    vllm: str = ""
    file: str = ""
    failure: str = ""
    detail: str = ""
    answers: Mapping[int, list[list[str]]] = field(default_factory=dict)  # index of the call


def caller_ids() -> frozenset[str]:
    """Ids of all callers, read from their source: importing them is the runner's business."""
    found: set[str] = set()
    for file in CALLERS.glob("*.py"):
        for match in _GUARD.finditer(file.read_text(encoding="utf-8")):
            found.update(re.findall(r'"([a-z0-9-]+)"', match[1]))
    return frozenset(found)


def ask(
    python: str,
    calls: Sequence[Mapping[str, Any]],
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    stop: threading.Event | None = None,
) -> Reply:
    """Start the runner once for all calls; ``stop`` ends it early. Never raises for what happens in
    the subprocess."""
    env = {**(os.environ if environment is None else environment), **OFFLINE}
    with tempfile.TemporaryDirectory(prefix="kvdoctor-") as elsewhere:
        try:
            process = subprocess.Popen(
                [python, str(RUNNER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=elsewhere,  # a folder named vllm where the user stands must not be imported
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            return Reply(failure="start", detail=str(error))
        try:
            said = _said(process, json.dumps({"calls": list(calls)}), seconds, stop)
        except BaseException:
            _end(process)
            raise
    if isinstance(said, Reply):
        return said
    return _read(*said, len(calls))


class _Drain(threading.Thread):
    """Reads a pipe to its end, so that the child never waits. Keeps the first ``most`` bytes, or
    with ``last`` the last ones; ``flooded`` once more came than is kept from the start."""

    def __init__(self, pipe: IO[bytes], most: int, *, last: bool = False) -> None:
        super().__init__(daemon=True)
        self._pipe, self.most, self._last = pipe, most, last
        self._kept = bytearray()
        self.flooded = False
        self.start()

    def run(self) -> None:
        with self._pipe:
            while not self.flooded and (read := os.read(self._pipe.fileno(), CHUNK)):
                self._kept += read
                if self._last:
                    del self._kept[: -self.most]
                elif len(self._kept) > self.most:
                    self.flooded = True
                    self._kept.clear()

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")


def _tell(pipe: IO[bytes], told: bytes) -> None:
    """Write and close; a child that has gone or does not read is told by its exit."""
    with contextlib.suppress(OSError, ValueError), pipe:
        pipe.write(told)


def _said(
    process: subprocess.Popen[bytes], told: str, seconds: float, stop: threading.Event | None
) -> tuple[str, str] | Reply:
    """What the runner printed, or a reply that says why there is nothing."""
    most = MOST_PRINTED + MOST_TIMES * len(told)
    out = _Drain(cast("IO[bytes]", process.stdout), most)
    err = _Drain(cast("IO[bytes]", process.stderr), CHUNK, last=True)
    teller = threading.Thread(target=_tell, args=(process.stdin, told.encode()), daemon=True)
    teller.start()
    try:
        return _waited(process, out, err, seconds, stop)
    finally:
        for one in (out, err, teller):
            one.join(STEP)  # what the child left running elsewhere may hold a pipe open


def _waited(
    process: subprocess.Popen[bytes],
    out: _Drain,
    err: _Drain,
    seconds: float,
    stop: threading.Event | None,
) -> tuple[str, str] | Reply:
    """Until the runner has ended, printed too much, or its time is over."""
    until = time.monotonic() + seconds
    while True:
        out.join(min(STEP, max(0.0, until - time.monotonic())))
        if out.flooded:
            _end(process)
            return Reply(failure="broken-off", detail=f"it printed more than {out.most} bytes")
        if not out.is_alive() and not err.is_alive() and process.poll() is not None:
            return out.text(), err.text()
        if stop is not None and stop.is_set():
            _end(process)
            return Reply(failure="stopped", detail="stopped before it answered")
        if time.monotonic() >= until:
            _end(process)
            return Reply(failure="timeout", detail=f"no answer within {seconds:g} seconds")
        if not out.is_alive():
            err.join(0.01)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.01)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the runner and everything that it started."""
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _read(out: str, err: str, calls: int) -> Reply:
    lines: list[dict[str, Any]] = []
    for line in out.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    tail = err.strip()[-2000:]
    if not lines:
        return Reply(failure="broken-off", detail=tail)
    if "no_import" in lines[0]:
        return Reply(failure="no-import", detail=str(lines[0]["no_import"]))
    answers = {index: line["answers"] for index, line in enumerate(lines[1:])}
    failure = "broken-off" if len(answers) < calls else ""
    return Reply(
        vllm=lines[0]["vllm"],
        file=lines[0]["file"],
        failure=failure,
        detail=tail if failure else "",
        answers=answers,
    )
