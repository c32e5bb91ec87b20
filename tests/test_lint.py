"""Every rule of the linter is shown one bad record; a good record passes all of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvdoctor.form.decode import record_of
from kvdoctor.knowledge import Knowledge
from kvdoctor.lint import Finding, across, lint, lint_command
from kvdoctor.lint.rules import snippet_problem
from kvdoctor.new import fresh_record

ID = "blocks-do-not-divide"
GOOD: dict[str, Any] = yaml.safe_load(fresh_record(ID))
GOOD["fixes"]["smaller-blocks"]["proof"] = {"level": "guard", "vllm": ">=0.25.1"}
OTHER: dict[str, Any] = {
    **yaml.safe_load(fresh_record("another-record")),
    "identify": [{"exception": "ValueError", "message": "Quite another message of {kind}"}],
}

Change = Callable[[dict[str, Any]], object]


def findings(
    change: Change, tmp_path: Path, *, examples: bool = False, other: dict[str, Any] = OTHER
) -> list[Finding]:
    tree = copy.deepcopy(GOOD)
    change(tree)
    file = tmp_path / f"{ID}.yaml"
    file.write_text(yaml.safe_dump(tree, sort_keys=False))
    return lint([file], Knowledge({"another-record": record_of(other)}), examples=examples)


def test_a_good_record_has_no_findings(tmp_path: Path) -> None:
    assert findings(lambda tree: None, tmp_path, examples=True) == []


def fix(**more: Any) -> Change:
    return lambda tree: tree["fixes"]["smaller-blocks"].update(more)


def check(**more: Any) -> Change:
    return lambda tree: tree["checks"][0].update(more)


def add_check(place: int, when: Any) -> Change:
    one = {"id": "more", "when": when, "cause": "x", "next_step": "x"}
    return lambda tree: tree["checks"].insert(place, one)


def expect(**more: Any) -> Change:
    return lambda tree: tree["examples"][0]["expect"].update(more)


def guards(guard: list[Any], **more: Any) -> Change:
    def change(tree: dict[str, Any]) -> None:
        tree["guard"] = guard
        tree["fixes"]["smaller-blocks"].pop("solve")
        tree["fixes"]["smaller-blocks"].update(more)

    return change


UNREAD = {"type": "int", "ask": "x", "find": "x"}
SHARED = {
    "type": "bool",
    "ask": "x",
    "find": "x",
    "lines": {"Blocks are shared by {n} engines": True, "Blocks are not shared": False},
}
TOLD = {
    "name": "a line tells it",
    "log": "WARNING 01-02 03:04:05 [core.py:1] Blocks are shared by 2 engines\n"
    + GOOD["examples"][0]["log"],
    "expect": {"values": {"shared": True}},
}
CHOICE = {"type": "choice", "choices": ["a", "b"], "ask": "x", "find": "x"}


def both(*changes: Change) -> Change:
    return lambda tree: [change(tree) for change in changes]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("form", lambda tree: tree.update(stage="late")),
        ("unused-input", lambda tree: tree["inputs"].update(unread=UNREAD)),
        ("unused-derived",
         lambda tree: tree.update(derive={"unread": {"type": "int", "from": "tokens"}})),
        ("unused-fix", check(fixes=[])),
        ("unreachable-check", add_check(0, True)),
        ("unreachable-check", add_check(1, "tokens % block_size != 0")),
        ("unreachable-check", add_check(1, "1 > 2")),
        ("no-way-on", check(fixes=[], next_step="")),
        ("not-a-choice", both(lambda tree: tree["inputs"].update(mode=CHOICE),
                              check(when="mode == 'c'"))),
        ("no-example", add_check(1, "tokens > 4")),
        ("no-example", expect(snippets={"smaller-blocks": None})),
        ("no-example", lambda tree: tree["identify"].append(
            {"exception": "ValueError", "message": "Never seen in any example of it"})),
        ("no-example", lambda tree: tree["identify"].append(
            {"exception": "AssertionError", "frame": "vllm/a.py:f", "code": "assert x"})),
        ("no-near-miss", lambda tree: tree["examples"].pop()),
        ("related-missing", lambda tree: tree.update(
            related=[{"id": "anoter-record", "kind": "leads-to"}])),
        ("related-missing", lambda tree: tree.update(related=[{"id": ID, "kind": "leads-to"}])),
        ("related-missing", lambda tree: tree["examples"][1].update(
            expect={"belongs_to": "no-such-record"})),
        ("related-missing", expect(behind="no-such-record")),
        ("unproven-fix", both(lambda tree: tree.update(status="proven"),
                              fix(proof={"level": "unproven"}))),
        ("proof-without-release", fix(proof={"level": "guard"})),
        ("proof-without-evidence", fix(proof={"level": "rerun", "vllm": "0.32.0"})),
        ("proof-without-guard", guards([])),
        ("proof-without-guard", guards([{"accepts": "tokens > 4"}], sets={"block_size": "8"})),
        ("broken-snippet", fix(snippet="--name 'open {block_size}")),
        ("broken-snippet", fix(snippet="--config '{\"a\": {block_size}'")),
        ("broken-snippet", fix(snippet='"a": {block_size},, "b"')),
        ("placeholder", fix(snippet="--block-size <your size>")),
        ("placeholder", fix(snippet="vllm serve ... --block-size {block_size}")),
        ("raw-text", both(
            lambda tree: tree["inputs"].update(host={"type": "text", "ask": "x", "find": "x"}),
            fix(snippet="--host {host|raw}"))),
        ("short-template", lambda tree: tree["identify"][0].update(message="{a} is {b}")),
        ("weak-frame", lambda tree: tree["identify"].append({"frame": "vllm/a.py:f"})),
        ("same-template", lambda tree: tree["identify"].append(
            {"exception": "ValueError", "message": "Quite another  message of {}"})),
        ("same-template", lambda tree: tree["identify"].append(dict(tree["identify"][0]))),
        ("long-summary", lambda tree: tree.update(summary="words " * 200)),
        ("long-title", lambda tree: tree.update(title="words " * 40)),
        ("no-find", lambda tree: tree["inputs"]["tokens"].pop("find")),
    ],
)  # fmt: skip
def test_a_rule_speaks_when_it_is_broken(rule: str, change: Change, tmp_path: Path) -> None:
    found = findings(change, tmp_path)
    assert rule in {one.rule for one in found}, found
    assert all(one.line > 0 and one.file.endswith(f"{ID}.yaml") for one in found)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("example-owner", lambda tree: tree["examples"][0].update(log="ValueError: Nothing.\n")),
        ("example-owner", lambda tree: tree["examples"][1].update(log=GOOD["examples"][0]["log"])),
        ("example-check", both(add_check(0, "tokens > 10"),)),
        ("example-values", expect(values={"tokens": 41})),
        ("example-snippet", expect(snippets={"smaller-blocks": "--block-size 9"})),
        ("example-snippet", expect(snippets={"smaller-blocks": None})),
        ("example-asks", lambda tree: tree["examples"][0].update(expect={"asks": ["tokens"]})),
    ],
)  # fmt: skip
def test_an_example_that_comes_out_otherwise_is_told(
    rule: str, change: Change, tmp_path: Path
) -> None:
    assert rule in {one.rule for one in findings(change, tmp_path, examples=True)}


def with_lines(example: dict[str, Any]) -> Change:
    def change(tree: dict[str, Any]) -> None:
        tree["inputs"]["shared"] = SHARED
        tree["checks"][0]["when"] = f"({tree['checks'][0]['when']}) and (shared or not shared)"
        tree["examples"][0].setdefault("answers", {})["shared"] = True
        tree["examples"].append(example)

    return change


def untold(found: list[Finding]) -> list[str]:
    return [one.field for one in found if one.rule == "untold-line"]


def test_a_line_that_an_example_shows_to_tell_its_value_is_let_be(tmp_path: Path) -> None:
    found = findings(with_lines(TOLD), tmp_path, examples=True)
    assert untold(found) == ["inputs.shared.lines.Blocks are not shared"]
    assert [one.rule for one in found] == ["untold-line"]
    [one] = found
    assert one.line > 0
    assert "shared = False" in one.message
    assert "expect.values" in one.remedy


@pytest.mark.parametrize(
    "change",
    [
        {"log": GOOD["examples"][0]["log"]},
        {"expect": {"values": {"shared": False}}},
        {"expect": {"asks": ["shared"]}},
        {"answers": {"shared": True}},
        {"expect": {"belongs_to": "none"}},
    ],
    ids=["no such line", "another value", "no value", "the value is answered", "a near miss"],
)
def test_a_line_whose_value_no_example_shows_is_reported(
    change: dict[str, Any], tmp_path: Path
) -> None:
    found = findings(with_lines({**TOLD, **change}), tmp_path)
    assert "inputs.shared.lines.Blocks are shared by {n} engines" in untold(found)


def test_an_example_may_stand_behind_another_records_error(tmp_path: Path) -> None:
    first = "ValueError: Quite another message of all\n"
    behind = {**copy.deepcopy(GOOD["examples"][0]), "name": "behind another"}
    behind["log"] = first + behind["log"]
    behind["expect"]["behind"] = "another-record"
    found = findings(lambda tree: tree["examples"].append(behind), tmp_path, examples=True)
    assert found == []
    behind["log"] = GOOD["examples"][0]["log"]
    found = findings(lambda tree: tree["examples"].append(behind), tmp_path, examples=True)
    assert [(one.rule, one.field) for one in found] == [
        ("example-owner", "examples[2].expect.behind")
    ]


def test_a_published_name_belongs_to_one_record(tmp_path: Path) -> None:
    other = {**OTHER, "published": [{"id": "80ae"}]}
    found = findings(lambda tree: tree.update(published=[{"id": "80ae"}]), tmp_path, other=other)
    assert [(one.rule, one.level) for one in found] == [("published-twice", "warning")]


class Catalogue:
    """What the linter asks the catalogue of sources."""

    releases = ("0.32.0", "0.33.0")

    def has_function(self, path: str, function: str) -> bool:
        return (path, function) == ("vllm/known.py", "check")


@pytest.mark.parametrize(
    ("place", "span", "rules"),
    [
        ("vllm/known.py:check", ">=0.32.0", []),
        ("vllm/known.py:other", ">=0.32.0", ["unknown-place"]),
        ("vllm/known.py:check", ">=0.34.0", ["empty-range"]),
    ],
)
def test_places_and_ranges_are_compared_with_the_catalogue(
    place: str, span: str, rules: list[str]
) -> None:
    tree = {**copy.deepcopy(GOOD), "seen_in": [{"vllm": span, "raised_in": place}]}
    knowledge = Knowledge({ID: record_of(tree)})
    vars(knowledge)["sites"] = Catalogue()
    assert [one.rule for one in across.notes(knowledge.records[ID], tree, knowledge)] == rules


def test_the_files_beside_the_records_are_checked_too(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "wrappers.yaml").write_text("- {id: a, message: x, quotes: y}\n")
    (tmp_path / "values.yaml").write_text("lines:\n  - {id: a}\n")
    (tmp_path / "symptoms.yaml").write_text(
        "first: a\nquestions:\n  a:\n    text: x\n    answers:\n"
        "      - {id: one, text: x, records: [anoter-record]}\n      - {id: two, text: x, say: x}\n"
    )
    found = lint([tmp_path], Knowledge({"another-record": record_of(OTHER)}))
    told = {(Path(one.file).stem, one.rule, one.line) for one in found}
    assert ("wrappers", "form", 1) in told
    assert ("symptoms", "related-missing", 6) in told
    assert {name for name, _, _ in told} == {"wrappers", "values", "symptoms"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("--block-size 16", "flag"),
        ("vllm serve 'a b' # it's a comment", "command"),
        ('"kv_role": "kv_both",', "kv-transfer-config"),
        ('{"a": [1]}', "kv-transfer-config"),
        ('--config={\\"a\\":1}', "flag"),
        ('--config \'{"a": {"b": 1}}\'', "flag"),
        ("It's prose", "report-bug"),
    ],
)
def test_a_snippet_that_a_shell_understands_is_let_be(text: str, kind: str) -> None:
    assert snippet_problem(text, kind) == ""


def test_a_finding_reads_like_a_compiler_message() -> None:
    one = Finding("a.yaml", 4, "no-find", "nobody is told", "add find", "warning", "inputs.x")
    assert str(one) == "a.yaml:4: warning [no-find] inputs.x: nobody is told (add find)"


def test_the_command_says_how_many_errors_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{ID}.yaml"
    file.write_text(yaml.safe_dump({**GOOD, "stage": "late"}))
    assert lint_command([str(file)]) == 1
    assert "1 errors, 0 warnings" in capsys.readouterr().out
    assert lint_command([str(file)], as_json=True) == 1
    [found] = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["field"]) == ("form", "stage")
    file.write_text(fresh_record(ID))
    assert lint_command([str(file)]) == 0
