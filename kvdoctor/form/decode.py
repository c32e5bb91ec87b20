"""Turns the tree of a record into a Record. The tree has been checked: nothing is checked here.

The same functions serve freshly read YAML and the compiled form, which holds the tree as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdoctor.record import (
    Check,
    Compared,
    Derived,
    Example,
    FixProof,
    FixSpec,
    Guard,
    Identify,
    Input,
    Published,
    Record,
    Related,
    SeenIn,
    Solve,
    Wrapper,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Tree: TypeAlias = "Mapping[str, Any]"


def record_of(tree: Tree, *, file: str = "", private: bool = False) -> Record:
    """The record in a checked tree."""
    return Record(
        id=tree["id"],
        title=_text(tree["title"]),
        status=tree["status"],
        severity=tree.get("severity", "error"),
        area=tree.get("area") or _folder(file),
        summary=_text(tree["summary"]),
        connectors=tuple(tree.get("connectors", ())),
        tags=tuple(tree.get("tags", ())),
        owner=tree.get("owner", "vllm"),
        kind=tree.get("kind", "raise"),
        seen_in=tuple(
            SeenIn(one["vllm"], one.get("raised_in", "")) for one in _list(tree["seen_in"])
        ),
        identify=identify_of(tree["identify"]),
        inputs={name: _input(name, one) for name, one in tree.get("inputs", {}).items()},
        derive=tuple(
            Derived(name, one["type"], expression_text(one["from"]))
            for name, one in tree.get("derive", {}).items()
        ),
        checks=tuple(_check(one) for one in tree["checks"]),
        guards=tuple(_guard(one) for one in _list(tree.get("guard", []))),
        fixes={id_: _fix(id_, one) for id_, one in tree.get("fixes", {}).items()},
        related=tuple(
            Related(one["id"], one["kind"], _text(one.get("why", "")))
            for one in tree.get("related", ())
        ),
        published=tuple(_published(one) for one in tree.get("published", ())),
        examples=tuple(_example(one) for one in tree["examples"]),
        danger=expression_text(tree.get("danger", "")),
        stage=tree.get("stage", 50),
        step=tree.get("step", ""),
        file=file,
        private=private,
    )


def _text(text: str) -> str:
    """A text of the record on as many lines as it was meant to have: YAML's folding adds one."""
    return text.strip()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _folder(file: str) -> str:
    parts = file.replace("\\", "/").split("/")
    return parts[-2] if len(parts) > 1 else ""


def expression_text(value: Any) -> str:
    """An expression as text: YAML may have read ``true`` or ``4`` as a value of its own."""
    return value.strip() if isinstance(value, str) else str(value)


def identify_of(tree: Any) -> tuple[Identify, ...]:
    """The entries of ``identify``, in either of its two forms."""
    if isinstance(tree, list):
        return tuple(_identify(one, {}) for one in tree)
    shared = {key: value for key, value in tree.items() if key != "any"}
    return tuple(
        _identify(one if isinstance(one, dict) else {"message": one}, shared) for one in tree["any"]
    )


def _identify(tree: Tree, shared: Tree) -> Identify:
    return Identify(**{key: _text(value) for key, value in {**shared, **tree}.items()})


def _input(name: str, tree: Tree) -> Input:
    return Input(
        name=name,
        type=tree["type"],
        ask=_text(tree["ask"]),
        find=_text(tree.get("find", "")),
        unit=tree.get("unit", ""),
        side=tree.get("side", "this"),
        choices=tuple(tree.get("choices", ())),
        minimum=tree.get("minimum"),
        maximum=tree.get("maximum"),
        reads=tuple(tree.get("reads", ())),
        usual=dict(tree.get("usual", {})),
        lines=dict(tree.get("lines", {})),
        shows=tuple(tree.get("shows", ())),
        where=tree.get("where", "anywhere"),
        example=str(tree.get("example", "")),
        chosen=bool(tree.get("chosen", False)),
    )


def _check(tree: Tree) -> Check:
    return Check(
        id=tree["id"],
        when=expression_text(tree["when"]),
        cause=_text(tree["cause"]),
        fixes=tuple(tree.get("fixes", ())),
        vllm=tree.get("vllm", ""),
        next_step=_text(tree.get("next_step", "")),
    )


def _guard(tree: Tree) -> Guard:
    return Guard(
        accepts=expression_text(tree["accepts"]),
        vllm=tree.get("vllm", ""),
        mirrors=tree.get("mirrors", ""),
        call=tree.get("call", ""),
        arguments={name: expression_text(text) for name, text in tree.get("with", {}).items()},
        compared=tuple(Compared(**one) for one in tree.get("compared", ())),
    )


def _fix(id_: str, tree: Tree) -> FixSpec:
    solve = tree.get("solve")
    return FixSpec(
        id=id_,
        title=_text(tree["title"]),
        snippet=_text(tree.get("snippet", "")),
        changes=_text(tree["changes"]),
        side=tree.get("side", "this"),
        kind=tree.get("kind", "flag"),
        vllm=tree.get("vllm", ""),
        when=expression_text(tree.get("when", "")),
        sets={name: expression_text(one) for name, one in tree.get("sets", {}).items()},
        removes=tuple(tree.get("removes", ())),
        applies={key: _text(one) for key, one in tree.get("applies", {}).items()},
        solve=Solve(
            {name: tuple(values) for name, values in solve["vary"].items()},
            expression_text(solve["cost"]),
        )
        if solve
        else None,
        proof=_proof(tree.get("proof", {"level": "unproven"})),
    )


def _proof(tree: Tree) -> FixProof:
    return FixProof(
        level=tree["level"],
        vllm=tree.get("vllm", ""),
        note=_text(tree.get("note", "")),
        evidence=tuple(tree.get("evidence", ())),
    )


def _published(tree: Tree) -> Published:
    return Published(
        id=tree.get("id", ""),
        slug=tree.get("slug", ""),
        url=tree.get("url", ""),
        advice=tuple(
            (_text(one["says"]), _verdict(one["verdict"]), _text(one.get("instead", "")))
            for one in tree.get("advice", ())
        ),
    )


def _verdict(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(tree: Tree) -> Example:
    expect = tree["expect"]
    return Example(
        name=_text(tree["name"]),
        log=tree["log"],
        vllm=tree.get("vllm", ""),
        answers=dict(tree.get("answers", {})),
        check=expect.get("check", ""),
        values=dict(expect.get("values", {})),
        snippets=dict(expect.get("snippets", {})),
        asks=tuple(expect.get("asks", ())),
        belongs_to=expect.get("belongs_to", ""),
        behind=expect.get("behind", ""),
    )


def wrapper_of(tree: Tree) -> Wrapper:
    """One entry of wrappers.yaml."""
    return Wrapper(
        id=tree["id"],
        message=_text(tree.get("message", "")),
        exception=tree.get("exception", ""),
        where=_text(tree.get("where", "")),
        quotes=tree.get("quotes", ""),
        noise=tree.get("noise", False),
    )
