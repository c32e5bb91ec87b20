"""Reading record files: the safe part of YAML, the form, and what only the whole record tells."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.errors import RecordError
from kvdoctor.form.decode import record_of
from kvdoctor.form.read import read_record, read_sheet
from kvdoctor.form.schema import record_schema
from kvdoctor.form.yaml_text import LARGEST, line_of, read_yaml
from kvdoctor.new import fresh_record

ID = "blocks-do-not-divide"
GOOD: dict[str, Any] = yaml.safe_load(fresh_record(ID))


def problems(change: Callable[[dict[str, Any]], object]) -> list[RecordError]:
    tree = copy.deepcopy(GOOD)
    change(tree)
    return read_record(yaml.safe_dump(tree, sort_keys=False), "x.yaml", ID)[1]


# -- YAML ---------------------------------------------------------------------------------------


def test_only_true_false_null_and_numbers_are_no_texts() -> None:
    text = "a: [yes, on, 12:30, 0.33.0, 2024-01-31, 010, 1e3, ~, true, -4, 0.92, 'true']"
    assert read_yaml(text)[0]["a"] == [
        "yes", "on", "12:30", "0.33.0", "2024-01-31", "010", "1e3", None, True, -4, 0.92, "true",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "stands here twice"),
        ("a: 1\nb: !!python/object:os.system {}\n", 2, "tag"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: *x\n", 1, "anchor"),
        ("a: &x [*x]\n", 1, "anchor"),
        ("? [1]\n: 2\n", 1, "key"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, "merging"),
        ("a:\n  b: 'open\n", 3, "not valid YAML"),
        ("a: b: c\n", 1, "not valid YAML"),
        ("a: " + "[" * 40 + "]" * 40, 1, "nested deeper"),
    ],
)
def test_yaml_that_means_more_than_it_shows_is_refused_with_its_line(
    text: str, line: int, part: str
) -> None:
    with pytest.raises(RecordError) as caught:
        read_yaml(text, "x.yaml")
    assert part in str(caught.value)
    assert caught.value.line == line


def test_aliases_cannot_grow_without_bound() -> None:
    rows = ["a0: &a0 [" + ", ".join(["lol"] * 20) + "]"]
    rows += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 20) + "]" for i in range(1, 9)]
    with pytest.raises(RecordError, match="aliases"):
        read_yaml("\n".join(rows))


def test_a_log_that_is_quoted_twice_may_be_an_alias() -> None:
    assert read_yaml("a: &log |\n  text\nb: *log\n")[0] == {"a": "text\n", "b": "text\n"}


def test_a_file_larger_than_any_record_is_refused() -> None:
    with pytest.raises(RecordError, match="larger"):
        read_yaml("a: " + "x" * LARGEST)


def test_every_value_knows_its_line() -> None:
    tree, lines = read_yaml("a:\n  - b: 1\n    c: >\n      text\n  - d\n")
    assert tree == {"a": [{"b": 1, "c": "text\n"}, "d"]}
    assert [line_of(lines, path) for path in (("a",), ("a", 0, "c"), ("a", 1), ("a", 1, "x"))] == [
        1, 3, 5, 5,
    ]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_text_makes_the_reader_raise_anything_but_its_own_error(text: str) -> None:
    try:
        read_yaml(text)
    except RecordError as error:
        assert error.problem


# -- the form -----------------------------------------------------------------------------------


def test_a_fresh_record_is_valid() -> None:
    assert problems(lambda tree: None) == []


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change that sets the value at a path like "checks.0.when"."""

    def change(tree: dict[str, Any]) -> None:
        here: Any = tree
        *parents, last = path.split(".")
        for part in parents:
            here = here[int(part)] if part.isdigit() else here[part]
        here[int(last) if last.isdigit() else last] = value

    return change


def drop(path: str) -> Callable[[dict[str, Any]], None]:
    def change(tree: dict[str, Any]) -> None:
        here: Any = tree
        *parents, last = path.split(".")
        for part in parents:
            here = here[int(part)] if part.isdigit() else here[part]
        del here[last]

    return change


@pytest.mark.parametrize(
    ("change", "field", "part"),
    [
        (put("tittle", "x"), "tittle", "did you mean 'title'?"),
        (drop("summary"), "", "'summary' is missing"),
        (put("id", "Other_Id"), "id", "hyphens"),
        (put("id", "other-id"), "id", "is called"),
        (put("status", "prooven"), "status", "did you mean 'proven'?"),
        (put("stage", "late"), "stage", "int is expected"),
        (put("seen_in.0.vllm", 0.33), "seen_in[0].vllm", "put it in quotes"),
        (put("seen_in.0.vllm", "since 0.33"), "seen_in[0].vllm", "no comparison"),
        (put("checks", {"id": "x"}), "checks", "a list is expected"),
        (put("inputs", []), "inputs", "a mapping is expected"),
        (put("inputs.tokens.type", "integer"), "inputs.tokens.type", "did you mean"),
        (put("inputs.tokens.ask", None), "inputs.tokens.ask", "a text is expected, not nothing"),
        (put("inputs.block size", {"type": "int", "ask": "x"}), "inputs.block size", "form"),
        (put("checks.0.when", "tokens % blocksize"), "checks[0].when", "did you mean 'block_size'"),
        (put("checks.0.when", "tokens + block_size"), "checks[0].when", "true or false"),
        (put("checks.0.cause", "{token} tokens"), "checks[0].cause", "did you mean 'tokens'?"),
        (put("checks.0.cause", "{tokens of it"), "checks[0].cause", "not a hole"),
        (put("checks.0.fixes", ["smaler-blocks"]), "checks[0].fixes[0]", "did you mean"),
        (put("checks.0.vllm", ">=new"), "checks[0].vllm", "range"),
        (put("guard.0.accepts", "tokens"), "guard[0].accepts", "true or false"),
        (put("danger", "tokenz > 1"), "danger", "unknown name"),
        (put("derive", {"x": {"type": "int", "from": "y"}}), "derive.x.from", "unknown name"),
        (put("derive", {"x": {"type": "bool", "from": "tokens"}}), "derive.x.from", "gives int"),
        (put("derive", {"tokens": {"type": "int", "from": "1"}}), "derive.tokens", "twice"),
        (put("fixes.smaller-blocks.solve.cost", "'x'"), "fixes.smaller-blocks.solve.cost",
         "number"),
        (put("fixes.smaller-blocks.sets", {"blocks": "1"}), "fixes.smaller-blocks.sets.blocks",
         "did you mean"),
        (put("fixes.smaller-blocks.sets", {"block_size": "'8'"}),
         "fixes.smaller-blocks.sets.block_size", "gives text"),
        (put("fixes.smaller-blocks.snippet", "--block-size {old_blocksize}"),
         "fixes.smaller-blocks.snippet", "did you mean"),
        (drop("fixes.smaller-blocks.snippet"), "fixes.smaller-blocks", "'snippet' is missing"),
        (put("fixes.smaller-blocks.solve.vary", {"x": [1]}), "fixes.smaller-blocks.solve.vary.x",
         "no input"),
        (put("fixes.smaller-blocks.solve.vary", {"block_size": list(range(20_001))}),
         "fixes.smaller-blocks.solve.vary", "20,001 combinations, more than the 20,000"),
        (put("identify", []), "identify", "nothing would ever"),
        (put("identify.0", {"exception": "ValueError"}), "identify[0]", "a message or a frame"),
        (put("identify.0.message", "{a}{b}"), "identify[0].message", "holes alone"),
        (put("identify.0.message", r"(?:a|b)*x"), "identify[0].message", "template"),
        (put("identify.0.exception", "Value Error"), "identify[0].exception", "name of a class"),
        (put("inputs.tokens.choices", ["a"]), "inputs.tokens.choices", "go together"),
        (put("inputs.tokens.maximum", 0), "inputs.tokens.minimum", "above the maximum"),
        (put("inputs.tokens.usual", {"": "many"}), "inputs.tokens.usual.", "is no int"),
        (put("inputs.tokens.usual", {"": 0}), "inputs.tokens.usual.", "outside the limits"),
        (put("inputs.tokens.usual", {"now": 4}), "inputs.tokens.usual.now", "range"),
        (put("inputs.vllm_release", {"type": "text", "ask": "x"}), "inputs.vllm_release.type",
         "version"),
        (put("inputs.old_x", {"type": "text", "ask": "x"}), "inputs.old_x", "kept for"),
        (put("examples.0.expect.check", "x"), "examples[0].expect.check", "no check"),
        (put("examples.0.expect.values", {"b": 1}), "examples[0].expect.values[0]", "no value"),
        (put("examples.0.expect.snippets", {"x": ""}), "examples[0].expect.snippets[0]", "no fix"),
        (put("examples.0.expect", {}), "examples[0].expect", "expects nothing"),
        (put("examples.0.answers", {"tokens": "many"}), "examples[0].answers.tokens", "is no int"),
        (put("examples.0.vllm", ">=0.32"), "examples[0].vllm", "not a release"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_field_and_a_remedy(
    change: Callable[[dict[str, Any]], None], field: str, part: str
) -> None:
    found = problems(change)
    assert [str(one) for one in found if one.field == field and part in str(one)], found


def test_an_error_names_the_line_of_the_value() -> None:
    text = fresh_record(ID).replace("tokens % block_size != 0", "tokens % block != 0")
    wanted = next(i for i, row in enumerate(text.split("\n"), 1) if "% block !=" in row)
    found = read_record(text, "records/x.yaml", ID)[1]
    assert [(one.file, one.line) for one in found] == [("records/x.yaml", wanted)]


def test_all_mistakes_of_a_record_are_told_at_once() -> None:
    def change(tree: dict[str, Any]) -> None:
        tree["status"] = "x"
        tree["stage"] = "y"
        del tree["title"]

    assert len(problems(change)) == 3


# -- decoding -----------------------------------------------------------------------------------


def test_both_forms_of_identify_give_the_same_entries() -> None:
    tree = copy.deepcopy(GOOD)
    message = tree["identify"][0]["message"]
    first = record_of(tree)
    tree["identify"] = {"exception": "ValueError", "any": [message, {"message": "other {}"}]}
    second = record_of(tree)
    assert read_record(yaml.safe_dump(tree), "x", ID)[1] == []
    assert second.identify[0] == first.identify[0]
    assert (second.identify[1].exception, second.identify[1].message) == ("ValueError", "other {}")


def test_what_is_left_out_has_its_usual_value() -> None:
    tree = {k: v for k, v in GOOD.items() if k not in ("severity", "kind", "owner", "stage")}
    record = record_of(tree, file="knowledge/records/blocks/x.yaml")
    assert (record.severity, record.kind, record.owner) == ("error", "raise", "vllm")
    assert (record.stage, record.area) == (50, "blocks")


def test_bare_numbers_and_truths_are_expressions() -> None:
    tree = copy.deepcopy(GOOD)
    tree["checks"][0]["when"] = True
    tree["fixes"]["smaller-blocks"]["sets"] = {"block_size": 8}
    assert read_record(yaml.safe_dump(tree), "x", ID)[1] == []
    record = record_of(tree)
    assert record.checks[0].when == "True"
    assert record.fixes["smaller-blocks"].sets == {"block_size": "8"}


# -- the other files and the schema -------------------------------------------------------------

TREE = """
first: hangs
questions:
  hangs:
    text: Does a request hang?
    metric: vllm:num_requests_waiting
    answers:
      - {id: yes, text: It does, next: which}
      - {id: no, text: It does not, say: Nothing is wrong with the transfer.}
  which:
    text: On which side?
    answers:
      - {id: prefill, text: Prefill, records: [a-record]}
      - {id: decode, text: Decode, records: [b-record]}
"""


def test_a_tree_of_symptoms_is_read() -> None:
    tree, found = read_sheet(TREE, "symptoms.yaml", "symptoms")
    assert found == []
    assert tree["questions"]["which"]["answers"][0]["records"] == ["a-record"]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("first: hangs", "first: hang", "no question is called"),
        ("next: which", "next: wich", "did you mean 'which'?"),
        ("records: [a-record]", "next: hangs", "leads back to itself"),
        (", say: Nothing is wrong with the transfer.", "", "leads nowhere"),
        ("next: which", "say: x", "no answer leads to this question"),
        ("text: On which side?", "txt: x", "did you mean 'text'?"),
    ],
)
def test_a_broken_tree_of_symptoms_is_refused(old: str, new: str, part: str) -> None:
    assert old in TREE
    tree, found = read_sheet(TREE.replace(old, new), "symptoms.yaml", "symptoms")
    assert tree is None
    assert any(part in str(one) for one in found), found


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("- {id: a, message: x}\n- {id: a, message: y}\n", "a second wrapper"),
        ("- {id: a, message: 'failed with {error}', quotes: eror}\n", "no hole 'eror'"),
        ("- {id: a}\n", "'message' is missing"),
    ],
)
def test_a_broken_list_of_wrappers_is_refused(text: str, part: str) -> None:
    assert any(part in str(one) for one in read_sheet(text, "w.yaml", "wrappers")[1])


def conforms(value: Any, schema: dict[str, Any]) -> bool:
    """A small judge for the part of JSON Schema that our writer uses."""
    if "anyOf" in schema:
        return any(conforms(value, one) for one in schema["anyOf"])
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer",
             float: "number", type(None): "null"}  # fmt: skip
    kind, wanted = names[type(value)], schema["type"]
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if kind not in wanted and not (kind == "integer" and "number" in wanted):
        return False
    if isinstance(value, str):
        fits = re.fullmatch(schema["pattern"], value) if "pattern" in schema else True
        return bool(fits) and value in schema.get("enum", [value])
    if isinstance(value, list):
        return all(conforms(one, schema["items"]) for one in value)
    if isinstance(value, dict):
        inside = schema.get("properties", {})
        extra = schema["additionalProperties"]
        if any(name not in value for name in schema.get("required", ())):
            return False
        return all(
            conforms(one, inside[name]) if name in inside else extra and conforms(one, extra)
            for name, one in value.items()
        )
    return True


def test_the_schema_accepts_a_valid_record_and_refuses_a_broken_one() -> None:
    schema = json.loads(json.dumps(record_schema()))
    assert conforms(GOOD, schema)
    for change in (put("tittle", "x"), put("status", "x"), drop("summary"), put("stage", "x")):
        tree = copy.deepcopy(GOOD)
        change(tree)
        assert not conforms(tree, schema)
