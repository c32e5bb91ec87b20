"""Ordering releases and reading ranges of them."""

from __future__ import annotations

import pytest

from kvdoctor.errors import ExpressionError
from kvdoctor.releases import contains, covers, is_release, key, parse_range

IN_ORDER = [
    "0.9.2", "0.10.0.dev3", "0.10.0a1", "0.10.0rc1", "0.10.0rc2", "0.10.0", "0.10.0.post1",
    "0.10.1", "0.25.1", "0.33.0",
]  # fmt: skip


def test_releases_are_put_in_the_order_of_their_publication() -> None:
    alphabetic = sorted(IN_ORDER)
    assert alphabetic != IN_ORDER
    assert sorted(alphabetic, key=lambda release: key(release) or ()) == IN_ORDER


def test_what_follows_a_plus_never_changes_the_order() -> None:
    assert key("0.32.0+cu129") == key("0.32.0") == key("v0.32") == key("0.32")


@pytest.mark.parametrize("text", ["", "latest", "0.32.x", "1" * 40, "0.32.0; rm", "0..1"])
def test_what_is_no_version_has_no_key(text: str) -> None:
    assert key(text) is None
    assert not is_release(text)


@pytest.mark.parametrize(
    ("span", "inside", "outside"),
    [
        (">=0.25.1,<0.33.0", ["0.25.1", "0.32.9", "0.33.0rc1"], ["0.25.0", "0.33.0"]),
        ("<=0.19.1", ["0.11.2", "0.19.1"], ["0.20.0"]),
        ("0.32.0", ["0.32.0", "0.32.0+cu129"], ["0.32.1"]),
        ("==0.19.*", ["0.19.0", "0.19.7"], ["0.190.0", "0.20.0"]),
        ("!=0.19.*", ["0.20.0"], ["0.19.1"]),
        ("!=0.30.0", ["0.30.1"], ["0.30.0"]),
        ("> 0.30.0 , < 0.31", ["0.30.1"], ["0.30.0", "0.31.0"]),
        ("", ["0.1.0", "0.99.0"], []),
    ],
)
def test_a_range_holds_what_it_says(span: str, inside: list[str], outside: list[str]) -> None:
    assert [contains(span, one) for one in inside] == [True] * len(inside)
    assert [contains(span, one) for one in outside] == [False] * len(outside)


def test_a_range_covers_all_some_or_none_of_the_candidates() -> None:
    span = ">=0.25.1"
    assert covers(span, ["0.25.1", "0.33.0"]) == "all"
    assert covers(span, ["0.20.0", "0.33.0"]) == "some"
    assert covers(span, ["0.20.0"]) == "none"
    assert covers(span, []) == "some"
    assert covers("", []) == "all"


@pytest.mark.parametrize("text", [">=", ">=new", "~=0.3", "0.3 0.4", ">=0.3,,<0.4", ">=0.19.*"])
def test_a_range_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_range(text)


@pytest.mark.parametrize("text", ["4-410.*", "1.2rc1.*", "==0.x.*"])
def test_a_star_follows_plain_numbers_only(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_range(text)
