"""A small made-up record for tests of the stages: nothing of it exists in vLLM."""

from __future__ import annotations

from kvdoctor.knowledge import Knowledge
from kvdoctor.record import (
    Check,
    Derived,
    FixProof,
    FixSpec,
    Guard,
    Identify,
    Input,
    Record,
    Related,
    SeenIn,
    Solve,
)

GUARDED = FixProof("guard", ">=0.30.0")

WIDGET = Record(
    id="widget-sizes-differ",
    title="The widgets of both sides differ",
    status="proven",
    severity="error",
    area="made-up",
    summary="A made-up failure.",
    connectors=("WidgetConnector",),
    tags=(),
    owner="vllm",
    kind="raise",
    seen_in=(SeenIn(">=0.30.0", "vllm/widget.py:compare"),),
    identify=(
        Identify(
            "Widget size {local_size} does not divide {remote_size} here", exception="ValueError"
        ),
    ),
    inputs={
        "local_size": Input(
            "local_size",
            "int",
            "size here",
            side="decode",
            minimum=1,
            maximum=512,
            reads=("decode.widget_size",),
        ),
        "remote_size": Input(
            "remote_size",
            "int",
            "size there",
            side="prefill",
            minimum=1,
            reads=("prefill.widget_size",),
        ),
        "strict": Input("strict", "bool", "strict mode?", usual={"": True}),
    },
    derive=(Derived("rest", "int", "remote_size % local_size"),),
    checks=(
        Check(
            "strict-mode",
            "strict and rest != 0",
            "{remote_size} leaves {rest}.",
            ("equal", "nearest", "useless", "later"),
        ),
        Check("old-release", "rest != 0", "Old and {rest} over.", ("equal",), vllm="<0.31.0"),
    ),
    guards=(Guard("not strict or remote_size % local_size == 0", vllm=">=0.30.0", call="widget"),),
    fixes={
        "equal": FixSpec(
            "equal",
            "Same size",
            "--widget-size {local_size}",
            "restart decode",
            side="decode",
            sets={"local_size": "remote_size"},
            applies={"--widget-size": "{local_size}"},
            proof=GUARDED,
        ),
        "nearest": FixSpec(
            "nearest",
            "Nearest size that divides",
            "--widget-size {local_size}",
            "from {old_local_size}",
            solve=Solve({"local_size": (1, 2, 4, 8, 16, 32)}, "abs(local_size - old_local_size)"),
            proof=GUARDED,
        ),
        "useless": FixSpec(
            "useless",
            "Published advice",
            "--widget-size {local_size}",
            "nothing",
            sets={"local_size": "local_size + 1"},
            proof=GUARDED,
        ),
        "later": FixSpec(
            "later",
            "Upgrade",
            "pip install vllm==0.40.0",
            "restart",
            vllm=">=0.40.0",
            proof=GUARDED,
        ),
    },
    related=(Related("widget-missing", "leads-to", "then it is missing"),),
    published=(),
    examples=(),
    stage=80,
)

MISSING = Record(
    id="widget-missing",
    title="A widget is missing",
    status="proven",
    severity="error",
    area="made-up",
    summary="Another made-up failure.",
    connectors=("WidgetConnector",),
    tags=(),
    owner="vllm",
    kind="raise",
    seen_in=(SeenIn("", "vllm/widget.py:find"),),
    identify=(Identify("No widget of size {size} was ever found", exception="KeyError"),),
    inputs={
        "size": Input("size", "int", "size", side="decode", reads=("decode.widget_size",)),
    },
    derive=(),
    checks=(Check("too-large", "size > 100", "{size} is too large.", ()),),
    guards=(Guard("size <= 100"),),
    fixes={},
    related=(),
    published=(),
    examples=(),
    stage=60,
)


def knowledge() -> Knowledge:
    return Knowledge(records={WIDGET.id: WIDGET, MISSING.id: MISSING})
