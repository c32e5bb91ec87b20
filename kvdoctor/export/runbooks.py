"""One Markdown page a record, with the four headings that Prometheus runbooks have."""

from __future__ import annotations

from collections.abc import Sequence

from kvdoctor.export.rules import Left, Rule
from kvdoctor.record import FixSpec, Record
from kvdoctor.show.note import escaped, fenced, inline

STAGES = (
    (10, "reading the command line"), (20, "making the configuration"),
    (30, "reading the model's configuration"), (40, "creating the connector"),
    (50, "planning the KV cache"), (60, "registering the KV cache"), (70, "the handshake"),
    (80, "the first transfer"), (99, "serving"),
)  # fmt: skip
IMPACT = {
    "error": "The request or the server fails.",
    "danger": "Nothing fails at once, and results or speed suffer.",
    "warning": "The server goes on, worse than it could.",
    "notice": "None now.",
}
PROOF = {
    "guard": "vLLM's own check was compared with the real function and accepts it",
    "rerun": "the failure was provoked in a real vLLM and was gone with it",
    "source": "read in vLLM's source",
    "unproven": "UNPROVEN",
}


def render(rules: Sequence[Rule], left: Sequence[Left], options: dict[str, str]) -> dict[str, str]:
    """An index and a page for every record of the rules; also for those a line cannot tell."""
    found = [rule.record for rule in rules] + [one.record for one in left]
    records = {one.id: one for one in sorted(found, key=lambda one: one.id)}
    pages = {f"{name}.md": page(record) for name, record in records.items()}
    rows = [f"- [{escaped(one.title)}]({name}.md)" for name, one in records.items()]
    title = options.get("title") or "Runbooks for vLLM's KV cache"
    return {"README.md": "\n".join([f"# {escaped(title)}", "", *rows, ""]), **pages}


def page(record: Record) -> str:
    """One runbook page. Holes stay visible as {names}: kvdoctor fills them from a log."""
    lines = [f"# {escaped(record.title)}", "", *_meaning(record), *_impact(record)]
    return "\n".join([*lines, *_diagnosis(record), *_mitigation(record)]).rstrip() + "\n"


def _meaning(record: Record) -> list[str]:
    lines = ["## Meaning", "", escaped(_plain(record.summary)), ""]
    shown = [entry.message or entry.code or entry.frame for entry in record.identify]
    for text in dict.fromkeys(one for one in shown if one):
        lines += [fenced(text), ""]
    causes = [f"- {escaped(_plain(check.cause))}" for check in record.checks]
    return [*lines, "Causes, in the order in which they are tried:", "", *causes, ""]


def _impact(record: Record) -> list[str]:
    stage = next(name for limit, name in STAGES if record.stage <= limit)
    return ["## Impact", "", f"{IMPACT[record.severity]} vLLM reaches it while {stage}.", ""]


def _diagnosis(record: Record) -> list[str]:
    lines = ["## Diagnosis", "", fenced("kubectl logs POD | kvdoctor"), ""]
    asked = [
        f"- {escaped(_plain(one.ask))}" + (f" ({escaped(_plain(one.find))})" if one.find else "")
        for one in record.inputs.values()
        if one.ask
    ]
    lines += ["What decides:", "", *asked, ""] if asked else []
    for check in record.checks:
        lines.append(f"- {inline(check.id)} when {inline(check.when)}")
    lines += [""] if record.checks else []
    for guard in record.guards:
        span = f" ({guard.vllm})" if guard.vllm else ""
        lines += [f"vLLM accepts{span}:", "", fenced(guard.accepts), ""]
    return lines


def _mitigation(record: Record) -> list[str]:
    lines = ["## Mitigation", ""]
    used = {name for check in record.checks for name in check.fixes}
    for fix in record.fixes.values():
        if fix.id in used:
            lines += _fix(fix)
    steps = [check.next_step for check in record.checks if check.next_step]
    lines += [f"- {escaped(_plain(one))}" for one in dict.fromkeys(steps)]
    lines += [""] if steps else []
    for published in record.published:
        for says, verdict, instead in published.advice:
            if verdict not in ("true", "unverified"):
                lines.append(
                    f"- Published advice that does not hold: {escaped(_plain(says))}: "
                    f"{escaped(_plain(instead or verdict))}"
                )
    return lines if len(lines) > 2 else [*lines, "No fix is known; collect both sides' logs."]


def _fix(fix: FixSpec) -> list[str]:
    span = f", vLLM {fix.vllm}" if fix.vllm else ""
    return [
        f"**{escaped(_plain(fix.title))}** ({fix.side}{escaped(span)})",
        "",
        fenced(fix.snippet),
        "",
        f"{escaped(_plain(fix.changes))} Shown: {PROOF[fix.proof.level]}"
        + (f" (vLLM {escaped(fix.proof.vllm)})." if fix.proof.vllm else "."),
        "",
    ]


def _plain(text: str) -> str:
    return " ".join(text.split())
