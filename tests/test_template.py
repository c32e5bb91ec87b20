"""Matching messages against templates: wraps, cuts, tails, quotes, values; and the index."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.errors import RecordError
from kvdoctor.text.template import Hit, Pattern, PatternIndex, Skeleton, skeleton_of

HEADS = (
    "Heterogeneous TP needs replicated KV heads on both sides. "
    "Got total_num_kv_heads={heads}, local_tp_size={local}, remote_tp_size={remote}."
)
TYPES = {"heads": "int", "local": "int", "remote": "int"}
MESSAGE = HEADS.format(heads=8, local=4, remote=16)


def found(template: str, message: str, types: dict[str, str] | None = None) -> Hit:
    hit = Pattern.compile(template, types).match(message)
    assert hit is not None
    return hit


def test_a_message_gives_the_values_of_its_holes() -> None:
    hit = found(HEADS, MESSAGE, TYPES)
    assert hit.holes == {"heads": "8", "local": "4", "remote": "16"}
    assert hit.complete
    assert hit.literal_chars == hit.total_chars
    assert (hit.start, hit.end) == (0, len(MESSAGE))


@pytest.mark.parametrize("width", [9, 17, 40])
def test_line_breaks_and_indentation_anywhere_change_nothing(width: int) -> None:
    wrapped = "\n      ".join(MESSAGE[i : i + width] for i in range(0, len(MESSAGE), width))
    assert found(HEADS, wrapped, TYPES).holes == {"heads": "8", "local": "4", "remote": "16"}


def test_lost_spaces_change_nothing() -> None:
    assert found(HEADS, MESSAGE.replace(" ", ""), TYPES).complete


def test_a_value_keeps_its_own_white_space() -> None:
    hit = found("layers {names} differ", "layers a,\n  b and c differ")
    assert hit.holes["names"] == "a,\n  b and c"


@pytest.mark.parametrize(
    "message",
    ["Set `kv_role` to 'x y'.", "Set kv_role to 'x y'.", "Set ‘kv_role’ to ‘x y’.",
     "Set \\'kv_role\\' to \\'x y\\'.", 'Set "kv_role" to "x y".'],
)  # fmt: skip
def test_quotes_may_be_others_or_lost(message: str) -> None:
    assert found("Set `kv_role` to '{value}'.", message).holes == {"value": "x y"}


def test_quotes_that_belong_to_the_value_are_kept() -> None:
    assert found("names {names}, got {n}", "names ['a', 'b'], got 2").holes["names"] == "['a', 'b']"


def test_a_tail_behind_the_message_is_let_be() -> None:
    for tail in (" [type=value_error, input_value=ArgsKwargs]", "\nFor further information", " x"):
        assert found(HEADS, MESSAGE + tail, TYPES).holes["remote"] == "16"


def test_a_last_hole_ends_at_its_sentence_and_not_at_a_decimal_point() -> None:
    assert found("Got {share}.", "Got 0.92.").holes == {"share": "0.92"}
    assert found("Got {share}.", "Got 0.92. Try another.").holes == {"share": "0.92"}
    assert found("No module {name}.", "No module a.b.c.").holes == {"name": "a.b.c"}


def test_a_short_literal_stands_among_white_space_as_in_the_template() -> None:
    hit = found("{host}: {error}", "tcp://10.0.0.1:5557: refused")
    assert hit.holes == {"host": "tcp://10.0.0.1:5557", "error": "refused"}


def test_a_cut_message_is_recognised_but_not_called_complete() -> None:
    hit = found(HEADS, MESSAGE[:80], TYPES)
    assert not hit.complete
    assert hit.literal_chars < hit.total_chars


@pytest.mark.parametrize("mark", ["...", "…", " [truncated]", "<...truncated...>"])
def test_a_mark_of_truncation_is_no_part_of_the_message(mark: str) -> None:
    assert not found(HEADS, MESSAGE[:90] + mark, TYPES).complete


def test_a_value_that_the_end_of_the_text_cuts_is_not_reported() -> None:
    cut = MESSAGE[: MESSAGE.index("16") + 1]
    assert found(HEADS, cut, TYPES).holes == {"heads": "8", "local": "4"}


def test_too_little_of_a_message_is_no_match() -> None:
    assert Pattern.compile(HEADS).match(MESSAGE[:14]) is None
    assert Pattern.compile("{a} is disabled because {b}.").match("caching is") is None


def test_a_message_that_ends_in_a_value_may_be_another_one() -> None:
    pattern = Pattern.compile(
        "Unsupported cache type {kind} for connector {name} of this platform; "
        "choose one of the types that its page lists"
    )
    start = "Unsupported cache type fp8"
    assert pattern.match(start) is None
    assert pattern.match(f"{start} for connector Nixl") is None
    assert pattern.match(f"{start} for connector Nixl of th") is not None
    assert pattern.match(f"{start} for connector N...") is not None


def test_another_message_with_the_same_beginning_is_no_match() -> None:
    other = MESSAGE[:58] + "Something else stands here. " * 20
    assert Pattern.compile(HEADS).match(other) is None


def test_a_numeric_hole_takes_nothing_but_a_number() -> None:
    pattern = Pattern.compile("size {n} of {m} blocks", {"n": "int", "m": "number"})
    assert pattern.match("size 5 of 2.5 blocks") is not None
    assert pattern.match("size None of 2.5 blocks") is None
    assert pattern.match("size 5 of many blocks") is None


def test_a_literal_that_comes_again_before_a_number_is_not_taken_for_the_first() -> None:
    pattern = Pattern.compile("the size {n} tokens", {"n": "int"})
    hit = pattern.search("the size matters: the size 5 tokens")
    assert hit is not None
    assert hit.holes == {"n": "5"}


def test_a_number_may_stand_before_a_point() -> None:
    hit = found("needs {x}. Got {y}.", "needs 16. Got 9.37.", {"x": "number", "y": "number"})
    assert hit.holes == {"x": "16", "y": "9.37"}


def test_holes_with_only_white_space_between_them_are_parted_by_it() -> None:
    assert found("Unknown {a} {b}.", "Unknown one two three.").holes == {
        "a": "one",
        "b": "two three",
    }
    assert found("Unknown {a}{b}.", "Unknown one.").holes == {}


def test_anonymous_holes_are_not_reported() -> None:
    assert found("Got {} and … of {n}", "Got a and b of 3").holes == {"n": "3"}


def test_literal_braces_match_braces() -> None:
    assert found("config {{a}} is {v}", "config {a} is 3").holes == {"v": "3"}
    assert found("got {'a': 1} for {v}", "got {'a': 1} for x").holes == {"v": "x"}


# -- looking in longer texts --------------------------------------------------------------------


def test_a_template_is_found_inside_a_longer_text() -> None:
    text = f"[Bug]: {MESSAGE} when I start decode"
    hit = Pattern.compile(HEADS, TYPES).search(text)
    assert hit is not None
    assert text[hit.start : hit.end] == MESSAGE
    assert hit.holes == {"heads": "8", "local": "4", "remote": "16"}


def test_a_match_starts_at_the_start() -> None:
    assert Pattern.compile(HEADS).match(f"note: {MESSAGE}") is None


@pytest.mark.parametrize("text", ["api_process_count must be positive", "recount must be positive"])
def test_a_template_does_not_start_inside_a_word(text: str) -> None:
    pattern = Pattern.compile("count must be positive")
    assert pattern.search(text) is None
    assert pattern.search(f"{text}; the count must be\n positive") is not None


def test_a_template_does_not_end_inside_a_word() -> None:
    assert Pattern.compile("must be one").search("it must be oneself") is None


def test_a_text_that_begins_in_the_middle_of_a_message_is_recognised() -> None:
    hit = Pattern.compile(HEADS, TYPES).search(MESSAGE[20:])
    assert hit is not None
    assert not hit.complete
    assert hit.holes == {"heads": "8", "local": "4", "remote": "16"}
    assert Pattern.compile(HEADS, TYPES).search(MESSAGE[75:]) is None
    assert Pattern.compile(HEADS, TYPES).search("words " * 60 + MESSAGE[20:]) is None


def test_an_open_beginning_is_no_value() -> None:
    hit = Pattern.compile("{host} refused the connection of {peer}").search(
        "x a refused the connection of b"
    )
    assert hit is not None
    assert hit.holes == {"peer": "b"}


def test_a_hole_does_not_span_a_whole_document() -> None:
    text = "Heterogeneous TP " + "word " * 5000 + "remote_tp_size=4."
    assert Pattern.compile("Heterogeneous TP {x} remote_tp_size={y}.").search(text) is None


# -- the small regex form -----------------------------------------------------------------------

LENGTH = (
    r"models?'s max seq len \((?P<length>\d+)\), \((?P<needed>[\d.]+) GiB KV cache is\s+needed"
    r"(?:.*?maximum model length is (?P<estimate>\d+))?"
)


@pytest.mark.parametrize("word", ["model", "models"])
def test_a_small_regular_expression_is_read_as_templates(word: str) -> None:
    text = f"To serve the {word}'s max seq len (131072), (16.00 GiB KV cache is\nneeded. Try."
    assert found(LENGTH, text).holes == {"length": "131072", "needed": "16.00"}
    more = f"{text} The estimated maximum model length is 76752. Try"
    assert found(LENGTH, more).holes["estimate"] == "76752"


def test_alternatives_of_a_group_are_all_tried() -> None:
    pattern = Pattern.compile(r"no (?:free|usable) blocks: (?P<n>\d+)")
    assert found(pattern.template, "there are no usable blocks: 12").holes == {"n": "12"}


@pytest.mark.parametrize(
    "text",
    [r"(a+)+(?:b)", r"(?P<x>(?:a|b)+)", r"(?:a|b)*c", r"(?=a)(?:b)", r"a{2,3}(?:b)", r"(?P<x>a)",
     r"\bword\d+", r"(?:a", r"a|(?:b)", r"(?P<n>\d)", r"(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)",
     r"(?P<x>.*)(?P=x)"],
)  # fmt: skip
def test_a_regular_expression_outside_the_subset_is_refused(text: str) -> None:
    with pytest.raises(RecordError) as caught:
        Pattern.compile(text)
    assert "template" in str(caught.value)


@pytest.mark.parametrize("text", ["Is this (really) a question?", "a*b", "C:\\new", "x.y [z] $1 ^"])
def test_an_ordinary_message_is_never_taken_for_a_regular_expression(text: str) -> None:
    assert found(text, text).complete


# -- time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit", ["a ", "block size ", "block size 4 != ", "'", "1", "block ", "\\n", "size {", "."]
)
def test_time_grows_with_the_length_of_the_text_and_not_faster(unit: str) -> None:
    pattern = Pattern.compile("block size {a} != {b} for {c}; got {d}, {e}", {"a": "int"})
    times = []
    for count in (4_000, 32_000):
        text = unit * count
        start = time.process_time()
        pattern.search(text)
        pattern.match(text)
        times.append(time.process_time() - start)
    assert times[1] < max(0.5, times[0] * 60)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120), st.text(max_size=200))
def test_no_template_and_no_text_make_the_matcher_raise(template: str, text: str) -> None:
    try:
        pattern = Pattern.compile(template)
    except RecordError:
        return
    for hit in (pattern.match(text), pattern.search(text)):
        assert hit is None or 0 <= hit.start <= hit.end <= len(text)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(alphabet="abcdefgh ", min_size=6, max_size=20), min_size=2, max_size=5),
    st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
)
def test_a_filled_template_always_matches_and_gives_its_numbers_back(
    literals: list[str], numbers: list[int]
) -> None:
    names = [f"n{i}" for i in range(len(literals) - 1)]
    template = literals[0] + "".join(
        f"={{{name}}};{literal}" for name, literal in zip(names, literals[1:], strict=True)
    )
    values = dict(zip(names, map(str, numbers), strict=False))
    message = template.format(**values)
    hit = Pattern.compile(template, dict.fromkeys(names, "int")).match(message)
    assert hit is not None
    assert hit.complete
    assert hit.holes == values


# -- the index ----------------------------------------------------------------------------------

SYLLABLES = ("ba", "ko", "ri", "ten", "mul", "sho", "pe", "dra", "lin", "gu")
WORDS = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES[:5]]


def templates(count: int) -> list[tuple[str, str]]:
    chance = random.Random(7)  # noqa: S311
    made = []
    for number in range(count):
        words = [chance.choice(WORDS) for _ in range(chance.randint(4, 12))]
        words.insert(chance.randint(1, 3), f"w{number}x")
        words.insert(chance.randint(2, 4), "{value}")
        made.append((f"t{number}", " ".join(words)))
    return made


def test_the_index_finds_the_template_of_every_message() -> None:
    pairs = templates(400)
    index = PatternIndex.build(pairs)
    for key, template in pairs:
        assert key in index.candidates("head " + template.replace("{value}", "4096") + " tail")


def test_the_index_finds_a_message_that_is_wrapped_or_cut_or_damaged() -> None:
    index = PatternIndex.build([*templates(300), ("heads", HEADS)])
    assert index.candidates("\n".join(MESSAGE))[0] == "heads"
    assert "heads" in index.candidates(MESSAGE[:50])
    middle = MESSAGE[:10] + "####" + MESSAGE[14:]
    assert "heads" in index.candidates(middle)
    assert "heads" in index.candidates(MESSAGE[70:])


def test_the_index_survives_the_way_through_json() -> None:
    index = PatternIndex.build([*templates(50), ("any", "{a} is {b}"), ("short", "{a} dead {b}")])
    again = PatternIndex.from_json(json.loads(json.dumps(index.to_json())))
    for text in ("it is x", "he is dead now", templates(50)[7][1], ""):
        assert again.candidates(text) == index.candidates(text)
    assert len(again) == 52


def test_templates_with_little_text_are_candidates_of_what_they_may_be() -> None:
    index = PatternIndex.build([("any", "{a} is {b}"), ("short", "{a} dead {b}")])
    assert "any" in index.candidates("nothing like it")
    assert "short" in index.candidates("peer dead again")
    assert "short" not in index.candidates("peer alive again")


def test_ten_thousand_templates_are_searched_well_below_a_millisecond() -> None:
    index = PatternIndex.build(templates(10_000))
    message = " ".join(template for _, template in templates(12)[8:])[:300]
    times = []
    for _ in range(20):
        start = time.process_time()
        assert index.candidates(message)
        times.append(time.process_time() - start)
    assert min(times) < 0.001


def test_a_skeleton_has_neither_space_nor_quotes() -> None:
    assert skeleton_of(" a 'b'\n\"c\" `d`\t\\n e ‘f’") == "abcdef"


def test_a_long_beginning_names_a_message_even_when_it_ends_in_a_value() -> None:
    pattern = Pattern.compile(
        "To serve at least one request with the longest length ({length}), ({needed} GiB memory is "
        "needed, which is more than the available memory ({left} GiB). Try something else entirely."
    )
    hit = pattern.match("To serve at least one request with the longest length (128000),")
    assert hit is not None
    assert (hit.complete, hit.holes["length"]) == (False, "128000")
    assert pattern.match("To serve at least one request (128000),") is None


@pytest.mark.parametrize("end", ["", "}b", "…x", "truncated.x"])
def test_a_tail_of_dots_costs_no_more_than_other_text(end: str) -> None:
    started = time.process_time()
    for _ in range(20):
        Skeleton("x " + "." * 200 + end)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "mark", ["...", "....", "…", "... truncated", "[truncated]", "...truncated...", "(truncated..."]
)
def test_every_mark_of_truncation_is_left_out_of_the_length(mark: str) -> None:
    text = Skeleton(f"the block size {mark}")
    assert text.chars[: text.kept] == "theblocksize"
