"""The knowledge as typed values: records, sites, wrappers. Nothing here reads a file.

Text with holes (``{name}``) is called a template. Expressions are strings of the closed language in
:mod:`kvdoctor.expression`. ``vllm`` is always a range string such as ``">=0.25.1,<0.33.0"``; ""
means every release.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdoctor.data import dataclass, field

PROOFS = ("ran", "guard", "rerun", "source", "unproven")  # strongest first


@dataclass(frozen=True, slots=True)
class SeenIn:
    vllm: str
    raised_in: str  # "vllm/v1/core/kv_cache_utils.py:_check_enough_kv_cache_memory"


@dataclass(frozen=True, slots=True)
class Identify:
    """One way in which the failure shows itself. At least ``message`` or ``frame`` is given.

    ``message``: template of the whole message. ``exception``: class name without module, "" = any
    (log records have none). ``level``: for log records. ``frame``: "vllm/…py:function" of the
    innermost frame, with ``code``: the source text of that frame, for bare asserts. ``any_frame``:
    "path-part:function" that must stand somewhere in the traceback (to tell apart one exception
    with two causes). ``before``: template of a log line that must stand earlier in the same text
    (the fatal message does not name the cause, an earlier warning does)."""

    message: str = ""
    exception: str = ""
    level: str = ""
    frame: str = ""
    code: str = ""
    any_frame: str = ""
    before: str = ""
    native: str = ""  # file of a native library's record ("topology.cpp")


@dataclass(frozen=True, slots=True)
class Input:
    """One value the decision tree needs."""

    name: str
    type: str  # int, number, text, bool, choice, version
    ask: str
    find: str = ""
    unit: str = ""
    side: str = "this"  # prefill, decode, both, this, other
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    reads: tuple[str, ...] = ()  # names in Values, "decode.tensor_parallel_size" or plain
    usual: Mapping[str, object] = field(default_factory=dict)  # vllm range -> value
    lines: Mapping[str, object] = field(default_factory=dict)  # template of a log line -> value
    shows: tuple[str, ...] = ()  # templates of log lines to look at before answering
    where: str = "anywhere"  # before, after: where such a line must stand, seen from the failure
    example: str = ""
    chosen: bool = False  # the user's own choice for the fix: the cause does not hang on it


@dataclass(frozen=True, slots=True)
class Derived:
    name: str
    type: str
    expression: str


@dataclass(frozen=True, slots=True)
class Check:
    """One branch of the decision tree: the first whose ``when`` is true is the cause."""

    id: str
    when: str
    cause: str  # template
    fixes: tuple[str, ...]
    vllm: str = ""
    next_step: str = ""  # template: what to look at or collect when there is no fix


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison of our guard with the real function: kept by tests/oracle."""

    vllm: str
    combinations: int
    raised: int
    mismatches: int


@dataclass(frozen=True, slots=True)
class Guard:
    """vLLM's own condition: ``accepts`` is true for the values vLLM lets pass."""

    accepts: str
    vllm: str = ""
    mirrors: str = ""  # "vllm.package.module:Class.function", "" when nothing importable
    call: str = ""  # id of the caller in kvdoctor/proof (prove) and tests/oracle
    arguments: Mapping[str, str] = field(default_factory=dict)  # caller's input -> expression
    compared: tuple[Compared, ...] = ()


MOST_TRIALS = 20_000  # combinations of values that one solve may try


@dataclass(frozen=True, slots=True)
class Solve:
    """The engine searches ``vary`` (name -> candidate values or expression naming a list) for the
    assignment that the guard accepts and that costs least (``cost`` expression)."""

    vary: Mapping[str, tuple[object, ...]]
    cost: str


@dataclass(frozen=True, slots=True)
class FixProof:
    level: str  # guard, rerun, source, unproven
    vllm: str = ""
    note: str = ""  # what was run or read, one sentence
    evidence: tuple[str, ...] = ()  # files under tests/cases or "vllm/…py:function" at a release


@dataclass(frozen=True, slots=True)
class FixSpec:
    id: str
    title: str
    snippet: str  # template; values are quoted for the shell unless the hole says |raw
    changes: str  # template: cost, restart of which side
    side: str = "this"  # prefill, decode, both, this, router
    kind: str = "flag"  # flag, kv-transfer-config, env, upgrade, model, router, command, report-bug
    vllm: str = ""
    when: str = ""
    sets: Mapping[str, str] = field(default_factory=dict)  # input -> expression
    removes: tuple[str, ...] = ()  # flags or keys that the fix takes away from the launch command
    applies: Mapping[str, str] = field(default_factory=dict)  # flag or dotted key -> template
    solve: Solve | None = None
    proof: FixProof = FixProof("unproven")


@dataclass(frozen=True, slots=True)
class Related:
    id: str
    kind: str  # mistaken-for, leads-to, same-cause
    why: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """A published record or thread about this failure and what became of its advice."""

    id: str = ""
    slug: str = ""
    url: str = ""
    advice: tuple[tuple[str, str, str], ...] = ()  # (says, verdict, what happens instead)


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    log: str
    vllm: str = ""
    answers: Mapping[str, object] = field(default_factory=dict)
    check: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    snippets: Mapping[str, str | None] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    belongs_to: str = ""  # near miss: the record that owns this log; "none" = nobody's
    behind: str = ""  # the record whose error is shown first; this record's own stands behind it


@dataclass(frozen=True, slots=True)
class Record:
    id: str
    title: str
    status: str
    severity: str  # error, warning, danger, notice (worth knowing, no trouble)
    area: str
    summary: str
    connectors: tuple[str, ...]
    tags: tuple[str, ...]
    owner: str  # vllm, nixl, mooncake, lmcache, ucx, torch, os, router, …
    kind: str  # raise, assert, log, external, symptom
    seen_in: tuple[SeenIn, ...]
    identify: tuple[Identify, ...]
    inputs: Mapping[str, Input]
    derive: tuple[Derived, ...]
    checks: tuple[Check, ...]
    guards: tuple[Guard, ...]
    fixes: Mapping[str, FixSpec]
    related: tuple[Related, ...]
    published: tuple[Published, ...]
    examples: tuple[Example, ...]
    danger: str = (
        ""  # expression over inputs: this configuration is dangerous though nothing failed
    )
    stage: int = 50  # order in which vLLM reaches the guard: 10 argument parsing … 90 transfer
    step: str = ""  # where a request fails (show/sequence.py); "" = as stage tells, none = nowhere
    file: str = ""  # where it was loaded from
    private: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """One raise, assert or error log call of the library, over all its releases."""

    id: str
    kind: str  # raise, assert, log, warning
    owner: str
    exception: str
    level: str
    template: str  # "" for a bare assert
    code: str  # asserted expression, white space removed, for bare asserts
    places: tuple[tuple[str, str, int], ...]  # per release: (release, "path:function", line)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A message that is never the cause."""

    id: str
    message: str
    exception: str = ""
    where: str = ""  # where the cause then stands, for people
    quotes: str = ""  # name of the hole that holds the root message
    noise: bool = False  # not even a consequence worth showing
