"""The expression language: what it accepts, what it refuses, and its third truth value."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.errors import ExpressionError
from kvdoctor.expression import UNKNOWN, parse, read_value

NAMES = {
    "tp": "int",
    "heads": "int",
    "share": "number",
    "is_mla": "bool",
    "other": "bool",
    "role": "choice",
    "host": "text",
    "vllm_release": "version",
}


def result(text: str, **values: Any) -> Any:
    return parse(text, NAMES).evaluate(values)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("tp * 2 + 1", {"tp": 4}, 9),
        ("heads // tp", {"heads": 8, "tp": 3}, 2),
        ("heads % tp", {"heads": 8, "tp": 3}, 2),
        ("heads / tp", {"heads": 8, "tp": 16}, 0.5),
        ("-tp", {"tp": 4}, -4),
        ("1 <= tp <= 8", {"tp": 4}, True),
        ("1 <= tp <= 8", {"tp": 9}, False),
        ("tp in (1, 2, 4)", {"tp": 4}, True),
        ("tp not in (1, 2, 4)", {"tp": 4}, False),
        ("role == 'kv_both' or is_mla", {"role": "kv_both"}, True),
        ("'big' if tp > 4 else 'small'", {"tp": 8}, "big"),
        ("max(tp, heads, 3)", {"tp": 1, "heads": 2}, 3),
        ("min(share, tp)", {"share": 0.5, "tp": 1}, 0.5),
        ("abs(tp - heads)", {"tp": 1, "heads": 8}, 7),
        ("ceil(heads / tp)", {"heads": 8, "tp": 3}, 3),
        ("floor(heads / tp)", {"heads": 8, "tp": 3}, 2),
        ("round(share, 1)", {"share": 0.25}, 0.2),
        ("round(share)", {"share": 0.75}, 1),
        ("startswith(host, 'tcp')", {"host": "tcp://a"}, True),
        ("endswith(host, 'tcp')", {"host": "tcp://a"}, False),
        ("contains(host, '//')", {"host": "tcp://a"}, True),
        ("known(tp)", {"tp": 1}, True),
        ("known(tp)", {}, False),
        ("'http://' + host", {"host": "a:1"}, "http://a:1"),
        ("true", {}, True),
        ("not false", {}, True),
    ],
)
def test_an_expression_has_the_value_python_would_give(
    text: str, values: dict[str, Any], expected: Any
) -> None:
    assert result(text, **values) == expected


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("is_mla and other", {"is_mla": False}, False),
        ("other and is_mla", {"is_mla": False}, False),
        ("is_mla and other", {"is_mla": True}, UNKNOWN),
        ("is_mla or other", {"other": True}, True),
        ("is_mla or other", {"other": False}, UNKNOWN),
        ("not is_mla", {}, UNKNOWN),
        ("tp < heads < 4", {"heads": 8}, False),
        ("tp < heads < 4", {"heads": 2}, UNKNOWN),
        ("tp in (1, heads)", {"tp": 1}, True),
        ("tp in (2, heads)", {"tp": 1}, UNKNOWN),
        ("tp not in (1, heads)", {"tp": 1}, False),
        ("1 if is_mla else 1", {}, 1),
        ("1 if is_mla else 2", {}, UNKNOWN),
        ("tp if is_mla else heads", {"is_mla": True, "tp": 4}, 4),
        ("tp + 1", {"tp": UNKNOWN}, UNKNOWN),
        ("tp + 1", {"tp": None}, UNKNOWN),
        ("heads // tp", {"heads": 8, "tp": 0}, UNKNOWN),
        ("heads % tp == 0 or is_mla", {"heads": 8, "tp": 0, "is_mla": True}, True),
    ],
)
def test_what_is_not_known_stays_unknown_unless_it_is_decided_anyway(
    text: str, values: dict[str, Any], expected: Any
) -> None:
    found = result(text, **values)
    assert found is expected if expected is UNKNOWN else found == expected


def test_unknown_is_never_taken_for_false() -> None:
    with pytest.raises(TypeError):
        bool(result("is_mla"))


def test_values_of_another_type_count_as_unknown() -> None:
    assert result("tp == 4", tp="four") is UNKNOWN
    assert result("tp == 1", tp=True) is UNKNOWN
    assert result("is_mla", is_mla=1) is UNKNOWN
    assert result("tp == 4", tp=4.0) is True
    assert result("tp == 4", tp="4") is True


@pytest.mark.parametrize(
    ("release", "newer"),
    [
        ("0.9.2", False),
        ("0.29.0", False),
        ("0.30.0rc1", False),
        ("0.30.0", True),
        ("0.30.0.post1", True),
        ("0.33.0+vendor.7", True),
    ],
)
def test_releases_are_compared_as_versions_not_as_texts(release: str, newer: bool) -> None:
    assert result('vllm_release >= "0.30.0"', vllm_release=release) is newer


def test_a_release_that_is_no_version_is_unknown() -> None:
    assert result('vllm_release >= "0.30.0"', vllm_release="nightly") is UNKNOWN


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tpp + 1", "did you mean 'tp'?"),
        ("a.b", "Attribute"),
        ("tp ** 2", "Pow"),
        ("tp << 2", "LShift"),
        ("[x for x in (1,)]", "ListComp"),
        ("lambda: 1", "Lambda"),
        ("f'{tp}'", "JoinedStr"),
        ("(tp := 1)", "NamedExpr"),
        ("tp[0]", "Subscript"),
        ("__import__('os')", "not a function"),
        ("min(tp)", "takes 2 to 20 arguments"),
        ("mni(tp, 1)", "did you mean 'min'?"),
        ("round(tp, ndigits=1)", "not a function"),
        ("tp is 1", "compare with =="),
        ("tp == None", "None"),
        ("tp == '4'", "can never be meant"),
        ("is_mla == 1", "can never be meant"),
        ("host < role", "no order"),
        ("tp and is_mla", "needs bool"),
        ("not tp", "needs bool"),
        ("host + 1", "needs int or number"),
        ("host * 3", "needs int or number"),
        ("1 if tp else 2", "needs bool"),
        ("1 if is_mla else 'x'", "branches"),
        ("'a' in host", "contains(text, part)"),
        ("known(tp + 1)", "one name"),
        ('vllm_release >= "thirty"', "not a version"),
        ("vllm_release >= 30", "version"),
        ("tp +", "cannot be read"),
        ("", "cannot be read"),
        ("tp = 4", "cannot be read"),
        ("'\\n'", "backslash"),
        ("tp\x00", "null"),
        ("1" * 60, "too large"),
        ("1e999", "too large"),
    ],
)
def test_anything_outside_the_language_is_refused_with_a_reason(text: str, part: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert part in str(caught.value)


def test_an_error_names_the_column() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("tp > 1 and hedas > 2", NAMES)
    assert "column 12" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["tp + " * 400 + "1", "(" * 250 + "tp" + ")" * 250, "not " * 200 + "is_mla", "-" * 900 + "tp"],
)
def test_long_and_deep_expressions_are_refused_and_never_crash(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text, NAMES)


def test_numbers_cannot_grow_without_bound() -> None:
    assert result("*".join(["tp"] * 30), tp=10**9) is UNKNOWN
    assert result("share * share", share=1e300) is UNKNOWN
    assert result("tp + 1", tp="9" * 5000) is UNKNOWN


def test_open_names_are_those_the_result_still_depends_on() -> None:
    expression = parse("not is_mla and tp != heads and min(tp, heads) < 8", NAMES)
    assert expression.open_names({}) == ("is_mla", "tp", "heads")
    assert expression.open_names({"is_mla": False, "tp": 4}) == ("heads",)
    assert expression.open_names({"is_mla": True}) == ()
    choice = parse("tp > 1 if is_mla else heads > 1", NAMES)
    assert choice.open_names({"is_mla": True}) == ("tp",)
    assert choice.open_names({}) == ("is_mla", "tp", "heads")


def test_an_expression_tells_its_names_its_type_and_the_texts_it_compares() -> None:
    expression = parse("role in ('kv_both', 'x') and tp > 1", NAMES)
    assert expression.names == ("role", "tp")
    assert expression.type == "bool"
    assert expression.literals == (("role", "kv_both"), ("role", "x"))
    assert parse("tp / 2", NAMES).type == "number"


@pytest.mark.parametrize(
    ("raw", "kind", "expected"),
    [
        ("131072", "int", 131072),
        (" '8' ", "int", 8),
        ("8.0", "int", UNKNOWN),
        ("eight", "int", UNKNOWN),
        ("-3", "int", -3),
        ("1_000", "int", 1000),
        ("٣", "int", UNKNOWN),
        ("0.92", "number", 0.92),
        ("nan", "number", UNKNOWN),
        ("inf", "number", UNKNOWN),
        ("True", "bool", True),
        ("false", "bool", False),
        ("1", "bool", UNKNOWN),
        ("'kv_both'", "choice", "kv_both"),
        ("0.32.0", "version", "0.32.0"),
        ("latest", "version", UNKNOWN),
        (None, "text", UNKNOWN),
        ([1], "int", UNKNOWN),
    ],
)
def test_texts_of_a_log_become_typed_values(raw: Any, kind: str, expected: Any) -> None:
    found = read_value(raw, kind)
    assert found is expected if expected is UNKNOWN else found == expected


@st.composite
def truths(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["is_mla", "other", "tp > 2", "heads % tp == 0", "true"]))
    left, right = draw(truths(depth=depth - 1)), draw(truths(depth=depth - 1))
    form = draw(st.sampled_from(["({} and {})", "({} or {})", "(not {} or {})", "(({}) == ({}))"]))
    return form.format(left, right)


@settings(max_examples=150, deadline=None)
@given(
    truths(),
    st.fixed_dictionaries(
        {"is_mla": st.booleans(), "other": st.booleans(), "tp": st.integers(0, 4),
         "heads": st.integers(0, 9)}
    ),
    st.sets(st.sampled_from(["is_mla", "other", "tp", "heads"])),
)  # fmt: skip
def test_a_decided_result_never_changes_when_more_becomes_known(
    text: str, values: dict[str, Any], hidden: set[str]
) -> None:
    expression = parse(text, NAMES)
    partial = expression.evaluate({k: v for k, v in values.items() if k not in hidden})
    if partial is not UNKNOWN:
        assert expression.evaluate(values) == partial


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_no_text_makes_the_parser_raise_anything_but_its_own_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        parse(text, NAMES).evaluate({})
