"""Twice the text, twice the time: the whole way from bytes to report, on text made to hurt."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fuzz.pipeline import shipped
from support import cpu_seconds

from kvdoctor.intake import read
from kvdoctor.report import Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.plain import report_text

HEAD = "(Worker_TP0 pid=1) ERROR 01-01 00:00:00 [core.py:1] "
FRAME = '  File "/x/site-packages/vllm/v1/engine/core.py", line 9, in run\n    assert x\n'
CHAINED = "\nDuring handling of the above exception, another exception occurred:\n\n"
HARD: dict[str, Callable[[int], str]] = {
    "one line without end": lambda n: "a" * n,
    "one line of blanks": lambda n: "x" + " " * n + "y",
    "openers": lambda n: "".join("([{"[i % 3] for i in range(n)),
    "openers in a log line": lambda n: HEAD + "non-default args: " + "{'a': [" * (n // 7),
    "quotes": lambda n: "vllm serve m " + "'\"" * (n // 2),
    "backslashes": lambda n: "vllm serve m " + "\\\n" * (n // 2),
    "empty lines": lambda n: "\n" * n,
    "frames": lambda n: "Traceback (most recent call last):\n" + FRAME * (n // len(FRAME)),
    "chains": lambda n: (
        ("Traceback (most recent call last):\n" + FRAME + "ValueError: x\n" + CHAINED) * (n // 200)
    ),
    "different errors": lambda n: "".join(
        f"{HEAD}RuntimeError: thing {i} of {i * i} broke\n" for i in range(n // 90)
    ),
    "half a message again and again": lambda n: "MoRIIO heterogeneous TP requires " * (n // 33),
    "half a message in lines": lambda n: "ValueError: MoRIIO heterogeneous TP\n" * (n // 36),
    "numbers": lambda n: "block size 16 != 32, " * (n // 21),
    "escapes": lambda n: "\x1b[" * (n // 2),
    "colours": lambda n: "\x1b[31mx\x1b[0m" * (n // 10),
    "carriage returns": lambda n: "x\r" * (n // 2),
    "prefixes": lambda n: (HEAD * (n // len(HEAD))),
    "json lines": lambda n: '{"log":"ERROR x\\n","stream":"stderr"}\n' * (n // 39),
    "yaml": lambda n: "kind: Deployment\n" + "".join(f"k{i}: &a{i} [1]\n" for i in range(n // 16)),
    "indentation": lambda n: "".join(" " * (i % 200) + "- a:\n" for i in range(n // 105)),
    "carets": lambda n: "    " + "^" * (n // 2) + "\n    " + "~" * (n // 2),
    "key=value": lambda n: "a=1 " * (n // 4),
    "groups": lambda n: "  | " * (n // 4),
    "secrets": lambda n: "Authorization: Bearer " * (n // 22),
    "url with a password": lambda n: "http://" + "a:" * (n // 2) + "@h",
}  # fmt: skip
SIZE = 60_000
TIMES_TWO = 3.2  # what doubling may cost; growth with the square would cost 4
SECONDS_FOR_A_LINE = 30e-6  # lines of no or one character cost more than their bytes
FLOOR = 0.15  # seconds under which a quotient says nothing
WORK = 0.06  # seconds that the yardstick takes on a machine of the speed that the limits are for


def slowness() -> float:
    """How much longer plain Python takes here and now than on the machine of the limits; 1 where
    it is quicker."""

    def work() -> None:
        words = [f"line {number} of a log" for number in range(150_000)]
        sum(len(word.split()) for word in words)

    return max(1.0, cpu_seconds(work) / WORK)


def spent(text: str) -> float:
    known = shipped()

    def work() -> None:
        shown = report(read_sources([Source(read(text, knowledge=known.reading))], known), known)
        document(shown)
        report_text(shown, known)

    return cpu_seconds(work)


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    spent("ValueError: x\n")


@pytest.mark.parametrize("name", sorted(HARD))
def test_twice_the_text_takes_twice_the_time_and_a_megabyte_about_a_second(name: str) -> None:
    make = HARD[name]
    text = make(2 * SIZE)
    small, large = spent(make(SIZE)), spent(text)
    limit = 1.0 + len(text) / 1e6 + SECONDS_FOR_A_LINE * text.count("\n")
    if large > limit * slowness():  # once more before an accusation: the machine may be busy
        large = min(large, spent(text))
    assert large < limit * slowness()
    if large > FLOOR and large > TIMES_TWO * small:
        again = spent(make(4 * SIZE))  # once more before an accusation: the machine may be busy
        assert again <= TIMES_TWO * large, f"{small:.2f} s, {large:.2f} s, {again:.2f} s"
