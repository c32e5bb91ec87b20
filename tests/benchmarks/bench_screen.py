"""How fast the screen is, as ratios within one run on this machine.

    python tests/benchmarks/bench_screen.py [--rounds N] [--lines N]

First paint: kvdoctor's screen against a Textual application with one line of text, both started
in a pseudo-terminal of 80 by 24, measured until the text stands in the output. Paste: a bracketed
paste of a coloured log, until kvdoctor shows its cause, against a bare TextArea, until it shows
the last line. File: a long log of the lines of the real ones in tests/cases, opened by name with
the history on; the peak memory of the process, and in its log view the time from each key to the
first output. Keys: the time the application needs for a key, up to the drawn screen.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

BARE = """
import gc
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("READYMARK")
Bare().run()
"""
AREA = """
from textual.app import App
from textual.widgets import TextArea
class Area(App):
    def compose(self):
        yield TextArea(soft_wrap=True)
    def on_text_area_changed(self, event):
        if "LASTMARK" in event.text_area.text[-400:]:
            event.text_area.move_cursor(event.text_area.document.end)
Area().run()
"""
KVDOCTOR = [sys.executable, "-m", "kvdoctor"]
FAILURE = (
    "AssertionError: Local block size 32 is not divisible by remote block size 128 or vice versa."
)
CASES = Path(__file__).parent.parent / "cases"
FAILING = CASES / "061-nixl-blocksize-d-smaller" / "decode.log"
HEALTHY = re.compile(r"(?:^|\) )(?:INFO|DEBUG) ")
START = re.compile(r"args|version|nitializ|onfig|odel|[\u2580-\u259f]")  # tells of a start
CLOCK = re.compile(r"\d\d:\d\d:\d\d")
COUNT = re.compile(r"(?<![\w.:/=-])\d+(?:\.\d+)?(?![\w.:])")
KEYS = {
    "down": b"j", "pagedown": b" ", "end": b"G", "home": b"g", "e": b"e", "E": b"E", "m": b"m",
    "p": b"p", "f": b"f", "w": b"w", "right": b"\x1b[C", "n": b"n",
}  # fmt: skip
MEMORY_LIMIT = 250  # MB, the most that the process may ever hold with 200,000 lines
KEY_LIMIT = 33  # ms from a key to its answer
PAINT_LIMIT = 1.15  # times a bare application
SITE = "/usr/lib/python3/dist-packages/vllm/distributed/kv_transfer/kv_connector/utils.py"


def long_log(lines: int) -> str:
    """A coloured log of a decode engine with one failure in its middle."""
    rows = [
        f"\x1b[36m(EngineCore pid={100 + i % 8})\x1b[0;0m "
        f"INFO 11-30 10:{i // 60 % 60:02}:{i % 60:02} "
        f"[core.py:{i % 700}] step {i} of the scheduler gave {i * 7919 % 10007} tokens to the batch"
        for i in range(lines)
    ]
    rows[lines // 2 : lines // 2] = [
        "INFO 11-30 10:00:00 [api_server.py:100] vLLM API server version 0.32.0",
        "Traceback (most recent call last):",
        f'  File "{SITE}", line 516, in block_size_ratio',
        "    assert local_block_size % remote_block_size == 0",
        FAILURE,
    ]
    return "\n".join(rows)


def real_log(lines: int) -> str:
    """So many lines of records as real logs have them after their start, times and counts varied,
    with one real start and its failure in the middle."""
    rows = [
        row
        for path in sorted(CASES.glob("*/*.log"))
        for row in path.read_text("utf-8", "replace").splitlines()
        if HEALTHY.search(row[:60]) and not START.search(row)
    ]
    failing = FAILING.read_text("utf-8").splitlines()
    made: list[str] = []
    for at in range(lines - len(failing)):
        second = at // 5 % 86400
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        head, bracket, message = rows[at % len(rows)].partition("] ")
        message = COUNT.sub(str(at * 7919 % 10007), message)
        made.append(CLOCK.sub(clock, head, count=1) + bracket + message)
    made[lines // 2 : lines // 2] = failing
    return "\n".join(made)


class Terminal:
    """A child on a pseudo-terminal of its own."""

    def __init__(self, command: list[str], folder: str) -> None:
        self.began = time.perf_counter()
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", XDG_STATE_HOME=folder, COLUMNS="", LINES="")
            os.environ.pop("TMUX", None)
            os.execv(command[0], command)  # noqa: S606
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.seen = b""

    def wait_for(self, mark: bytes, seconds: float = 60.0) -> float:
        """Seconds from the start until ``mark`` stood in the output."""
        until = time.perf_counter() + seconds
        while mark not in self.seen:
            if time.perf_counter() > until:
                raise TimeoutError(f"never saw {mark!r}")
            self.drain(0.05)
        return time.perf_counter() - self.began

    def drain(self, seconds: float) -> None:
        if select.select([self.end], [], [], seconds)[0]:
            try:
                self.seen = (self.seen + os.read(self.end, 1 << 16))[-200_000:]
            except OSError as error:
                raise RuntimeError("the program has ended") from error

    def send(self, data: bytes) -> None:
        """Write all of it, reading what comes meanwhile so that neither side blocks."""
        os.set_blocking(self.end, False)
        while data:
            ready, free, _ = select.select([self.end], [self.end], [], 1.0)
            if ready:
                self.drain(0)
            if free:
                try:
                    data = data[os.write(self.end, data[:4096]) :]
                except BlockingIOError:
                    continue
        os.set_blocking(self.end, True)

    def processor(self) -> float:
        """Processor seconds used so far: what a busy machine disturbs least."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def quiet(self, seconds: float = 1.0) -> None:
        """Read what comes until nothing has come for so long."""
        while select.select([self.end], [], [], seconds)[0]:
            self.drain(0)

    def answer(self, key: bytes) -> float:
        """Milliseconds from a key to the first output; 0 when it changes nothing."""
        self.quiet(0.2)
        began = time.perf_counter()
        os.write(self.end, key)
        answered = select.select([self.end], [], [], 1.0)[0]
        return (time.perf_counter() - began) * 1000 if answered else 0.0

    def memory(self) -> float:
        """Largest resident size so far, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(row.split()[1]) for row in status.splitlines() if "VmHWM" in row) / 1024

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.end)


def first_paint(rounds: int, folder: str) -> float:
    """Median ratio of the first paint, the two programs started in turn."""
    bare: list[float] = []
    ours: list[float] = []
    used: dict[bytes, list[float]] = {}
    for _ in range(rounds):
        for command, mark, times in (
            ([sys.executable, "-c", BARE], b"READYMARK", bare),
            (KVDOCTOR, b"Paste a vLLM", ours),
        ):
            terminal = Terminal(command, folder)
            times.append(terminal.wait_for(mark))
            used.setdefault(mark, []).append(terminal.processor())
            terminal.close()
    cpu = [statistics.median(times) for times in used.values()]
    print(f"processor time to the first paint: {cpu[0]:.2f}, {cpu[1]:.2f} s: {cpu[1] / cpu[0]:.2f}")
    ratio = statistics.median(ours) / statistics.median(bare)
    print(
        f"first paint: bare {statistics.median(bare) * 1000:.0f} ms, "
        f"kvdoctor {statistics.median(ours) * 1000:.0f} ms, ratio {ratio:.2f}; "
        f"fastest {min(bare) * 1000:.0f} and {min(ours) * 1000:.0f} ms, "
        f"{min(ours) / min(bare):.2f} (limit {PAINT_LIMIT})"
    )
    return ratio


def paste(lines: int, folder: str) -> float:
    """Ratio of the times from the paste to what each program has to show."""
    coloured = long_log(lines).encode()
    # Textual's own parser takes escape bytes in a paste for keys: the bare program gets none.
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", coloured)
    times: list[float] = []
    memory = 0.0
    for command, ready, text, mark in (
        ([sys.executable, "-c", AREA], b"\x1b[?2004h", plain, b"LASTMARK"),
        (KVDOCTOR, b"Paste a vLLM", coloured, b"proof"),
    ):
        terminal = Terminal(command, folder)
        terminal.wait_for(ready)
        for _ in range(30):
            terminal.drain(0.05)  # both have started up and are idle
        began = time.perf_counter() - terminal.began
        terminal.send(b"\x1b[200~" + text + b"\nLASTMARK\x1b[201~")
        times.append(terminal.wait_for(mark, 180) - began)
        memory = terminal.memory()
        terminal.close()
    print(
        f"paste of {lines:,} lines ({len(coloured) / 1e6:.1f} MB): TextArea {times[0]:.2f} s, "
        f"kvdoctor diagnosed {times[1]:.2f} s, ratio {times[1] / times[0]:.2f}; "
        f"kvdoctor's memory {memory:.0f} MB"
    )
    return times[1] / times[0]


def file(lines: int, folder: str) -> float:
    """Peak memory in MB of ``kvdoctor FILE`` after every key of the log view; what each took."""
    log = Path(folder) / "decode.log"
    log.write_text(real_log(lines), "utf-8")
    terminal = Terminal([*KVDOCTOR, str(log)], folder)
    answered = terminal.wait_for(b"proof", 300)
    read = terminal.memory()
    terminal.quiet()
    terminal.send(b"l")
    terminal.quiet()
    took = {name: max(terminal.answer(key) for _ in range(3)) for name, key in KEYS.items()}
    told = ", ".join(f"{name} {ms:.0f}" for name, ms in took.items())
    peak = terminal.memory()
    terminal.close()
    print(
        f"file of {lines:,} lines ({log.stat().st_size / 1e6:.1f} MB): diagnosed after "
        f"{answered:.1f} s; peak memory {read:.0f} MB read, {peak:.0f} MB after the keys "
        f"(limit {MEMORY_LIMIT}); keys, slowest of three, in ms: {told} (limit {KEY_LIMIT})"
    )
    return peak


async def keys(lines: int) -> float:
    """The slowest key in milliseconds with a log of ``lines`` lines open."""
    from kvdoctor.ui.app import KvdoctorApp, Pending
    from kvdoctor.ui.logscreen import LogScreen

    app = KvdoctorApp(pending=(Pending("decode.log", "this", real_log(lines)),))
    slowest: dict[str, float] = {}
    async with app.run_test(size=(120, 40)) as pilot:
        while app.shown is None:
            await pilot.pause(0.05)
        await pilot.press("l")
        while not isinstance(app.screen, LogScreen):
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        for key in ("down", "pagedown", "end", "home", "e", "E", "m", "p", "p", "f", "f", "right"):
            began = time.perf_counter()
            app.simulate_key(key)
            await pilot._wait_for_screen()
            slowest[key] = max(slowest.get(key, 0), (time.perf_counter() - began) * 1000)
    told = ", ".join(f"{key} {took:.0f}" for key, took in slowest.items())
    print(f"keys with {lines:,} lines open, in ms: {told} (limit {KEY_LIMIT})")
    return max(slowest.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--only", choices=("paint", "paste", "file", "keys"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "paint"):
            first_paint(options.rounds, folder)
        if options.only in (None, "paste"):
            paste(options.lines, folder)
        if options.only in (None, "file"):
            file(options.lines * 10, folder)
        if options.only in (None, "keys"):
            asyncio.run(keys(options.lines * 10))


if __name__ == "__main__":
    main()
