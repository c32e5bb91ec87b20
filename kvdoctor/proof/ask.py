"""Runs ``runner.py`` with another interpreter and reads its answers."""

from __future__ import annotations

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
from typing import Any

from kvdoctor.data import dataclass, field

RUNNER = Path(__file__).resolve().parent / "runner.py"
CALLERS = RUNNER.parent / "callers"
STEP = 0.2  # seconds after which a stop is heeded
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
                text=True,
                encoding="utf-8",
                errors="replace",
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


def _said(
    process: subprocess.Popen[str], told: str, seconds: float, stop: threading.Event | None
) -> tuple[str, str] | Reply:
    """What the runner printed, or a reply that says why there is nothing."""
    until = time.monotonic() + seconds
    text: str | None = told
    while True:
        try:
            return process.communicate(text, timeout=STEP if stop is not None else seconds)
        except subprocess.TimeoutExpired:
            text = None
        if stop is not None and stop.is_set():
            _end(process)
            return Reply(failure="stopped", detail="stopped before it answered")
        if time.monotonic() >= until:
            _end(process)
            return Reply(failure="timeout", detail=f"no answer within {seconds:g} seconds")


def _end(process: subprocess.Popen[str]) -> None:
    """End the runner and everything that it started."""
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.communicate()


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
