"""Damaged, hostile and random texts: real logs cut, mixed and wrapped as people and shippers do."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SMALL = 60_000  # bytes of a case that is worth mutating

NASTY = (
    "\x1b[31m", "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]8;;http://evil\x1b\\", "\x00", "\r", "\x0c",
    "‮", "﻿", "\ud800", "💥", "e\u0301", "[/bold]", "{", "}", "{{x}}", "%s%n", "`" * 40,
    "<!-- ", "--> <script>", "<!channel>", "$(reboot)", "; rm -rf ~", "'\"\\", "../" * 30,
    "9" * 400, "-" * 500, "(" * 300, "[" * 300, "{" * 300, "\t" * 200, "A" * 3000, "e+99999",
    "1e999", "nan", "0x", "٣", "^" * 80 + "~" * 80, "Traceback (most recent call last):\n",
    '  File "vllm/../../etc/passwd", line 1, in x\n', '  File "vllm/a\x00b.py", line 1, in x\n',
    '  File "vllm/x.py", line 99999999999999999999999, in x\n    assert x\nAssertionError\n',
    "During handling of the above exception, another exception occurred:\n",
    "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: x (2 sub)\n",
    "[h:1:0:1] Caught signal 11 (Segmentation fault: at address 0x8)\n",
    " 0  /x/libucs.so(a+0x2) [0x7f]\n", "SIGSEGV(11), PID: 1, Thread 2:\n",
    " frame #0: _ZN9a (0x7f in /x.so)\n", "*** SIGSEGV received at time=1\n",
    "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n",
    "x: y (core dumped)", "!!!!!!! Segfault encountered !!!!!!!\n",
    "image: vllm/vllm-openai:v0.31.0@sha256:", "--kv-transfer-config '{\"kv_connector\": ",
    "vllm serve m --block-size ", "!!python/object:",
    "&a [*a, *a]\n", "args: [" * 50, "kind: Deployment\nspec:\n", "non-default args: {'a': [[[[",
)  # fmt: skip
PREFIXES = (
    "2026-01-01T00:00:00.000000000Z stdout F ", "[pod/decode-0/vllm] ", "decode-0  | ",
    "Nov 30 19:57:30 host vllm[12]: ", "> ", "    ", "(RayWorker pid=1, ip=10.0.0.1) ", "12: ",
    "\x1b[36m(Worker_TP0 pid=7)\x1b[0;0m ", '{"log":"', "| ", "+ ", "E ",
)  # fmt: skip


def cases() -> list[bytes]:
    """The bytes of the project's real logs, short ones first."""
    found = [path.read_bytes() for path in sorted((TESTS / "cases").glob("*/*.log"))]
    found += [path.read_bytes() for path in sorted((TESTS / "cases").glob("*/*.txt"))]
    found += [path.read_bytes() for path in sorted((TESTS / "crashes").glob("*.log"))]
    found += [path.read_bytes() for path in sorted((TESTS / "cases").glob("*/cmd.sh"))]
    return sorted((one for one in found if len(one) < SMALL), key=len)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines(keepends=True)


def _cut(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    first = chance.randrange(len(data) + 1)
    return data[first : first + chance.randrange(len(data) + 1)]


def _doubled(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    at = chance.randrange(len(lines) + 1)
    part = lines[at : at + chance.randrange(1, 30)]
    return "".join(lines[:at] + part * chance.randrange(1, 4) + lines[at:]).encode()


def _interleaved(data: bytes, chance: random.Random, every: Sequence[bytes]) -> bytes:
    piles = [_lines(data), _lines(chance.choice(every))]
    mixed: list[str] = []
    while any(piles):
        pile = chance.choice([one for one in piles if one])
        count = chance.randrange(1, 4)
        mixed += pile[:count]
        del pile[:count]
    return "".join(mixed).encode()


def _wrapped(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    width = chance.choice((7, 20, 40, 80, 132))
    out: list[str] = []
    for line in _lines(data):
        bare = line.rstrip("\n")
        out += [bare[at : at + width] for at in range(0, len(bare), width)] or [""]
    return "\n".join(out).encode()


def _prefixed(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    head = "".join(chance.choice(PREFIXES) for _ in range(chance.randrange(1, 4)))
    return "".join(head + line for line in _lines(data)).encode()


def _as_json_lines(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    key = chance.choice(("log", "message", "msg", "textPayload"))
    return "".join(json.dumps({key: line}) + "\n" for line in _lines(data)).encode()


def _sprinkled(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    text = data
    for _number in range(chance.randrange(1, 12)):
        at = chance.randrange(len(text) + 1)
        nasty = chance.choice(NASTY).encode("utf-8", "surrogatepass")
        text = text[:at] + nasty + text[at:]
    return text


def _flipped(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _number in range(chance.randrange(1, 40)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _shuffled(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    lines = _lines(data)
    chance.shuffle(lines) if chance.random() < 0.5 else lines.reverse()
    return "".join(lines).encode()


def _numbers(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """Digits replaced: sizes of 0, negative ones, ones with 40 digits."""
    out: list[str] = []
    for word in data.decode("utf-8", "replace").split(" "):
        if word.strip(".,=").isdigit() and chance.random() < 0.3:
            word = chance.choice(("0", "-1", "9" * 40, "1e9", "0.5", "", "None", "True"))
        out.append(word)
    return " ".join(out).encode()


def _recoded(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    how = chance.randrange(5)
    if how == 0:
        return text.encode("utf-16")
    if how == 1:
        return gzip.compress(data)[: chance.randrange(20, 4000)]
    if how == 2:
        return text.replace("\n", "\r\n").encode()
    if how == 3:
        return json.dumps(text).encode()
    return repr(text).encode()


MOVES: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _cut, _doubled, _interleaved, _wrapped, _prefixed, _as_json_lines, _sprinkled, _flipped,
    _shuffled, _numbers, _recoded,
)  # fmt: skip


def mutated(chance: random.Random, every: Sequence[bytes]) -> bytes:
    """One text: a real log after one to four moves, or random bytes, or hostile words alone."""
    kind = chance.random()
    if kind < 0.06:
        return chance.randbytes(chance.randrange(1, 5000))
    if kind < 0.14:
        words = [chance.choice(NASTY) for _ in range(chance.randrange(1, 60))]
        return "".join(words).encode("utf-8", "surrogatepass")
    data = chance.choice(every)
    for _ in range(chance.randrange(1, 5)):
        data = chance.choice(MOVES)(data, chance, every)[: 4 * SMALL]
    return data
