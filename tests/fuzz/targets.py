"""One small target for each stage that reads what a stranger wrote: bytes in, no exception out.

Each takes bytes, refuses with kvdoctor's own error or works, and checks what must hold of the
result. They are small so that a fuzzer that follows coverage can run them thousands of times a
second; ``pipeline.check`` runs the whole way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

from kvdoctor.errors import KvdoctorError
from kvdoctor.expression import UNKNOWN, check_template, parse
from kvdoctor.form.read import read_record, read_sheet
from kvdoctor.importing import draft, read_published
from kvdoctor.intake import read
from kvdoctor.intake.redact import redact
from kvdoctor.releases import parse_range
from kvdoctor.scalars import BIGGEST
from kvdoctor.show.hiding import Hider
from kvdoctor.show.note import escaped, fenced, inline
from kvdoctor.terminal import clean
from kvdoctor.text.rendering import render
from kvdoctor.text.template import Pattern
from kvdoctor.values import read_command, read_hf_config, read_values, read_yaml

from . import pipeline

TYPES = {"a": "int", "b": "number", "c": "text", "d": "bool", "vllm_release": "version"}
SOME = {"a": 3, "b": 2.5, "c": "kv_both", "d": True, "vllm_release": "0.32.0"}
LONGEST_JOINED = 100_000


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def expression(data: bytes) -> None:
    """An expression is refused, or evaluates to a bounded scalar whatever is known."""
    try:
        found = parse(_text(data), TYPES)
    except KvdoctorError:
        return
    for values in (SOME, {}, {"a": 0, "c": ""}, {"a": BIGGEST, "b": -1e300, "c": "x" * 200}):
        result = found.evaluate(values)
        assert result is UNKNOWN or isinstance(result, (bool, int, float, str))
        if isinstance(result, str):
            assert len(result) <= LONGEST_JOINED
        elif result is not UNKNOWN:
            assert abs(result) <= BIGGEST
        found.open_names(values)


def template(data: bytes) -> None:
    """A message template (first line) against a text (the rest)."""
    head, _, rest = _text(data).partition("\n")
    try:
        pattern = Pattern.compile(head, {"a": "int", "b": "number"})
    except KvdoctorError:
        return
    for text in (rest, head, rest + head + rest):
        for hit in (pattern.match(text), pattern.search(text)):
            assert hit is None or all(isinstance(one, str) for one in hit.holes.values())


def rendering(data: bytes) -> None:
    """A snippet (first line) with a hostile value (the rest), for a shell and as JSON."""
    head, _, rest = _text(data).partition("\n")
    try:
        check_template(head, TYPES)
    except KvdoctorError:
        return
    for quote in ("shell", "json", "none"):
        filled = render(head, {**SOME, "c": rest}, quote=quote)
        assert filled is None or "\x1b" not in filled or "\x1b" in head


def record(data: bytes) -> None:
    """A record file and the sheets beside the records: a tree, or errors with their place."""
    text = _text(data)
    tree, errors = read_record(text, "a.yaml", "a")
    assert (tree is None) == bool(errors)
    for name in ("wrappers", "symptoms", "values"):
        read_sheet(text, f"{name}.yaml", name)


def release(data: bytes) -> None:
    try:
        parse_range(_text(data)).contains("0.32.0")
    except KvdoctorError:
        return


def intake(data: bytes) -> None:
    paste = read(data, knowledge=pipeline.shipped().reading)
    for line in paste.lines:
        assert not pipeline.ACTED_ON & set(line.shown), line.shown
    last = max((line.number for line in paste.lines), default=1)
    assert all(1 <= one.number <= last for one in paste.failures)


def values(data: bytes) -> None:
    table = pipeline.shipped().value_table
    read_values(read(data), table=table)
    text = _text(data)
    for reader in (read_command, read_yaml, read_hf_config):
        reader(text, table)


def published(data: bytes) -> None:
    try:
        made = draft(read_published(data, "a.json"))
    except KvdoctorError:
        return
    assert made.id and "/" not in made.id and "\\" not in made.id and ".." not in made.id
    read_record(made.text, f"{made.id}.yaml", made.id)


def escaping(data: bytes) -> None:
    """What is shown, hidden and redacted: harmless, and the same when done twice."""
    text = clean(_text(data))
    assert not pipeline.ACTED_ON & set(text)
    for form in (escaped, inline, fenced):
        assert not pipeline.ACTED_ON & set(form(text))
    Hider().hide(text)
    once, _ = redact(text)
    again, count = redact(once)
    assert again == once and count == 0, (once[:200], again[:200])
    assert once.count("\n") == text.count("\n")


@cache
def _screen_parser() -> type:
    from kvdoctor.ui.fastpaste import FastPasteParser

    return FastPasteParser


def screen(data: bytes) -> None:
    """Terminal input in pieces: what stands between the paste marks comes out whole."""
    parser = _screen_parser()()
    text = _text(data[1:])
    size = (data[0] if data else 0) % 37 + 1
    for at in range(0, len(text), size):
        for _ in parser.feed(text[at : at + size]):
            pass
    for _ in itertools.islice(parser.feed(""), 1000):
        pass


def whole(data: bytes) -> None:
    pipeline.check(data, limit=False)


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        expression, template, rendering, record, release, intake, values, published, escaping,
        screen, whole,
    )
}  # fmt: skip
