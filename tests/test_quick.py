"""The short way to the options of a plain diagnosis gives what the parser gives."""

from __future__ import annotations

import pytest

from kvdoctor.command.arguments import parser
from kvdoctor.command.quick import options_of


@pytest.mark.parametrize(
    "words",
    [["a.log"], ["a.log", "b.log"], ["-"], ["--json", "a.log"], ["a.log", "--json"], ["a b", "ü"]],
)
def test_plain_options_are_those_of_the_parser(words: list[str]) -> None:
    quick = options_of(["diagnose", *words])
    assert quick is not None
    assert vars(quick) == vars(parser("diagnose").parse_args(["diagnose", *words]))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["diagnose"],
        ["diagnose", "--json"],
        ["diagnose", "--set", "a=1", "x"],
        ["diagnose", "--", "x"],
        ["diagnose", "--jso", "x"],
        ["explain", "x"],
        ["diagnose", "-h"],
    ],
)
def test_everything_else_is_left_to_the_parser(words: list[str]) -> None:
    assert options_of(words) is None
