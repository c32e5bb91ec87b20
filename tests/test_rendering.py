"""Filling templates: what reaches the clipboard must be harmless in a shell."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.errors import ExpressionError
from kvdoctor.text.rendering import check_template, holes_of, render

NASTY = [
    "x; rm -rf ~",
    "$(touch /tmp/x)",
    "`id`",
    "a'b\"c",
    "a b",
    "*",
    "~root",
    "a\\",
    "#",
    "&& id",
]


def test_a_value_that_needs_no_quoting_stays_bare() -> None:
    assert render("--tensor-parallel-size {n}", {"n": 4}, "shell") == "--tensor-parallel-size 4"
    assert render("--model {m}", {"m": "org/model-7b"}, "shell") == "--model org/model-7b"


@pytest.mark.parametrize("value", NASTY)
def test_a_nasty_value_is_one_harmless_word(value: str) -> None:
    text = render("vllm serve {m} --port {p}", {"m": value, "p": 8000}, "shell")
    assert text is not None
    assert shlex.split(text) == ["vllm", "serve", value, "--port", "8000"]


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "template", ['--config \'{"role": "{v}", "n": 1}\'', '--config \'{"role": {v}, "n": 1}\'']
)
def test_a_nasty_value_inside_json_inside_quotes_stays_a_value(template: str, value: str) -> None:
    text = render(template, {"v": value}, "shell")
    assert text is not None
    _, config = shlex.split(text)
    assert json.loads(config) == {"role": value, "n": 1}


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("template", ["printf %s {v}", "printf %s '{v}'", 'printf %s "{v}"'])
def test_a_real_shell_sees_the_value_and_nothing_else(template: str, value: str) -> None:
    text = render(template, {"v": value}, "shell")
    assert text is not None
    done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, timeout=10)
    assert (done.stdout, done.stderr) == (value, "")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_any_printable_value_is_one_word_or_is_refused(value: str) -> None:
    text = render("serve {v} end", {"v": value}, "shell")
    if text is not None:
        assert shlex.split(text) == ["serve", value, "end"]


@pytest.mark.parametrize("value", ["a\nrm -rf ~", "a\rb", "\x1b[201~id", "a\x00b", "a\u202eb"])
@pytest.mark.parametrize("template", ["serve {v}", "serve '{v}'", "serve {v|raw}", "# {v}"])
def test_control_characters_never_reach_a_shell(template: str, value: str) -> None:
    assert render(template, {"v": value}, "shell") is None


def test_control_characters_are_shown_in_prose_as_something_else() -> None:
    assert render("it is {v}", {"v": "a\x1b[31mb"}) == "it is a\ufffd[31mb"


def test_a_value_is_never_taken_for_an_option() -> None:
    assert render("serve {m}", {"m": "--trust-remote-code"}, "shell") is None
    assert render("--shift={n}", {"n": -4}, "shell") == "--shift=-4"


def test_a_raw_hole_takes_words_but_no_shell_operators() -> None:
    assert render("serve {v|raw}", {"v": "--a 1 --b 2"}, "shell") == "serve --a 1 --b 2"
    assert render("serve {v|raw}", {"v": "x; id"}, "shell") is None


def test_nothing_is_rendered_with_a_hole_left_open() -> None:
    assert render("{a} of {b}", {"a": 1}) is None
    assert render("{a} of {b}", {"a": 1, "b": None}) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [(16.0, "16"), (6.63 - 1e-12, "6.63"), (True, "true"), (0.92, "0.92"), (1e-7, "1e-07"),
     (2**40, "1099511627776"), (0.1 + 0.2, "0.3")],
)  # fmt: skip
def test_numbers_are_shown_as_people_write_them(value: Any, shown: str) -> None:
    assert render("{v}", {"v": value}) == shown


def test_braces_of_json_are_written_as_they_are() -> None:
    text = '{"a": {"b": {n}, "c": {}}}'
    assert holes_of(text) == ("n",)
    assert render(text, {"n": True}, "shell") == '{"a": {"b": true, "c": {}}}'


def test_doubled_braces_are_literal() -> None:
    assert render("{{name}} is {name}", {"name": 3}) == "{name} is 3"
    assert render('\'{{"a": {{"b": {n}}}}}\'', {"n": 1}, "shell") == '\'{"a": {"b": 1}}\''


def test_a_piece_of_an_object_is_filled_as_json() -> None:
    assert render('"kv_role": "{r}", "n": {n}', {"r": 'a"b', "n": 2}, "shell") == (
        '"kv_role": "a\\"b", "n": 2'
    )


def test_a_json_hole_is_a_json_value_anywhere() -> None:
    assert render("--config {v|json}", {"v": "a b"}, "shell") == "--config '\"a b\"'"
    assert render("is {v|json}", {"v": "a"}) == 'is "a"'


@pytest.mark.parametrize("text", ["{local tp}", "{tp", "{tp|shell}", "{a} {{b}} {c", "{{a}} }"])
def test_broken_braces_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        holes_of(text)


def test_an_undeclared_hole_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ExpressionError) as caught:
        check_template("{local_tp}", ["local_tp_size", "x"])
    assert "local_tp_size" in str(caught.value)


def test_an_apostrophe_in_a_comment_opens_no_quotes() -> None:
    text = render("# don't\nserve {v}", {"v": "a b"}, "shell")
    assert text == "# don't\nserve 'a b'"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "needs less than 10 MiB."),
        (0.0001, "needs about 105 KiB."),
        (0.05, "needs about 51 MiB."),
        (0.5, "needs 0.5 GiB."),
        (0, "needs 0 GiB."),
    ],
)
def test_a_small_size_is_told_in_a_unit_that_tells(value: float, said: str) -> None:
    assert render("needs {size} GiB.", {"size": value}) == said
