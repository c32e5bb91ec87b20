"""Records that mean harm: bombs, endless searches, deep expressions, names that are paths."""

from __future__ import annotations

import random

BASE = """\
id: {id}
title: {title}
status: proven
severity: error
kind: raise
owner: vllm
connectors: []
tags: []
summary: {summary}
seen_in: [{{vllm: "", raised_in: "vllm/a.py:f"}}]
identify:
  - exception: ValueError
    message: {message}
inputs:
  a: {{type: int, ask: a, minimum: {low}, maximum: {high}}}
  b: {{type: int, ask: b}}
derive:
  c: {{type: int, from: {derived}}}
checks:
  - {{id: one, when: {when}, cause: {cause}, fixes: [f]}}
guard:
  - {{accepts: {accepts}}}
fixes:
  f:
    title: t
    side: this
    kind: flag
    solve: {{vary: {{a: {domain}, b: {domain}}}, cost: {cost}}}
    snippet: {snippet}
    changes: none
    proof: {{level: unproven}}
examples:
  - {{name: x, log: "ValueError: broken 3 of 4 widgets", expect: {{check: one}}}}
"""
USUAL = {
    "id": "hostile-record", "title": "Hostile", "summary": "Hostile.",
    "message": '"broken {a} of {b} widgets"', "low": "0", "high": "100", "derived": '"a + b"',
    "when": '"a < b"', "cause": '"{a} of {b}"', "accepts": '"a == b"', "domain": "[1, 2, 3]",
    "cost": '"abs(a - old_a)"', "snippet": '"--a {a}"',
}  # fmt: skip
DEEP = "(" * 4000 + "a" + ")" * 4000
HARM: dict[str, tuple[str, ...]] = {
    "id": ("../../etc/x", "/etc/passwd", "'a b'", "x" * 5000, "'\\x1b[31m'", "CON", "''", "null"),
    "title": ('"\\e]52;c;eA==\\a"', "[1, 2]", "x" * 100_000, "*nothing", "&a [*a]"),
    "summary": ('"{open"', '"[link](javascript:x)"', "!!python/object:os.system x"),
    "message": (
        '"{a}{b}"', '"{a} {a} {b}"', '"' + "{a} x " * 400 + '"', '"((((a+)+)+)+)+$ {a} {b}"',
        '"' + "a" * 50_000 + '"', '""', '"{a!r} {b.__class__}"', '"%s {a} {b}"',
    ),
    "low": ("-1e999", ".nan", "9" * 400, "x"),
    "high": (".inf", "1e308", "-1", "[1]"),
    "derived": (
        '"9 ** 9 ** 9"', '"a.__class__"', '"__import__(1)"', '"1 // 0"', '"a % (b - b)"',
        '"10000000000 * 10000000000 * 1e300 * 1e300"', f'"{DEEP}"', '"c + 1"', '"max()"',
        '"' + "+".join(["a"] * 20_000) + '"', '"' + "not " * 5000 + 'a"', '"lambda: 1"',
    ),
    "when": ('"True"', '"a < b < c < a"', f'"{DEEP}"', '"a in " ', '"[x for x in a]"', '"a := 1"',
             '"' + " and ".join(["a < b"] * 5000) + '"'),
    "cause": ('"{a"', '"{a.b}"', '"{a:>999999999}"', '"{0}"', '"' + "{a}" * 20_000 + '"', '"}"'),
    "accepts": ('"a == b and " ', '"9999999999 * a * a * a == b"', '"1 / 0 == a"', '"False"'),
    "domain": (
        "[" + ", ".join(str(n) for n in range(20_000)) + "]", '"range(1, 10**12)"',
        "[.inf, .nan]", '["x"]', "[]", "{1: 2}", "[[1]]", "[" + "9" * 4000 + "]",
    ),
    "cost": ('"1 / (a - a)"', '"\'x\' * 10000000000"', '"a * 1e308 * 1e308"', f'"{DEEP}"'),
    "snippet": ('"{a|raw}; {b|raw}"', '"$(reboot) {a}"', '"{zzz}"', '"{a|what}"', '"\\n{a}\\x00"'),
}  # fmt: skip
WHOLE = (
    "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\n"
    "d: &d [*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
    "a: &a\n  b: *a\n",
    "[" * 20_000,
    "{" * 20_000,
    "- " * 20_000 + "x",
    "? " * 5_000 + "x",
    "!!python/object/apply:os.system ['true']\n",
    "id: x\nid: y\n",
    "\x00\x01",
    "%YAML 9.9\n---\nx",
    "---\na: 1\n---\nb: 2\n",
    "x: " + "y" * 3_000_000,
)


def record(chance: random.Random) -> str:
    """The text of a record file with one to three harmful parts, or harmful as a whole."""
    if chance.random() < 0.15:
        return chance.choice(WHOLE)
    parts = dict(USUAL)
    for name in chance.sample(sorted(HARM), chance.randrange(1, 4)):
        parts[name] = chance.choice(HARM[name])
    text = BASE.format(**parts)
    if chance.random() < 0.2:
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(("\t", "[", "'", ": ", "\x00", "é")) + text[at:]
    return text
