"""Python reprs, JSON and key=value lists as people paste them."""

from __future__ import annotations

import pytest

from kvdoctor.values.flatten import flatten
from kvdoctor.values.literals import read_literal, read_pairs, scalar, snake


def tree_of(text: str) -> object:
    reading = read_literal(text)
    assert reading is not None
    return reading.tree


def test_an_object_with_keywords_reads_as_a_mapping() -> None:
    text = "KVTransferConfig(kv_connector='NixlConnector', kv_rank=None, kv_buffer_size=1e9)"
    assert tree_of(text) == {
        "kv_connector": "NixlConnector", "kv_rank": None, "kv_buffer_size": 1e9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<CUDAGraphMode.FULL: 2>", "FULL"),
        ("<KVRole.BOTH: 'kv_both'>", "kv_both"),
        ("<CompilationMode.NONE: 0>", "NONE"),
        ("<object object at 0x7f>", "object object at 0x7f"),
        ("PosixPath('/models/x')", "/models/x"),
        ("r'a\\d'", "ad"),
        ("'it''s'", "its"),
        ("'caf\\u00e9 \\x41'", "café A"),
        ("[1, 2.5, True, null]", [1, 2.5, True, None]),
        ("{1, 2}", [1, 2]),
        ("(1, 'a')", [1, "a"]),
        ("deque([1])", [1]),
        ("set()", {}),
    ],
)
def test_values_that_no_literal_parser_knows_are_read(text: str, value: object) -> None:
    assert tree_of(text) == value


def test_of_a_cut_repr_only_complete_pairs_count() -> None:
    reading = read_literal("{'model': '/m', 'tensor_parallel_size': 4, 'max_model_len': 51")
    assert reading is not None
    assert reading.cut
    assert reading.tree == {"model": "/m", "tensor_parallel_size": 4}


def test_a_repr_cut_inside_a_nested_object_keeps_what_was_whole() -> None:
    tree = tree_of("{'kv': C(kv_role='kv_both', extra={'a': 1, 'b': 'cut of")
    assert tree == {"kv": {"kv_role": "kv_both", "extra": {"a": 1}}}


def test_dots_of_a_shortened_repr_are_passed_over() -> None:
    tree = tree_of("{'port': 8100, … 'block_size': 128, ... KVTransferConfig(kv_rank=None)}")
    assert tree == {"port": 8100, "block_size": 128, "kv_transfer_config": {"kv_rank": None}}


def test_typographic_quotes_are_quotes() -> None:
    assert tree_of("{“kv_connector”: “NixlConnector”, ‘a’: 1}") == {
        "kv_connector": "NixlConnector", "a": 1,
    }  # fmt: skip


def test_a_line_break_within_a_string_is_a_wrapped_line() -> None:
    assert tree_of("{'model': '/very/long\n/path'}") == {"model": "/very/long/path"}


def test_pairs_without_brackets_are_read_and_the_cut_last_one_is_not() -> None:
    reading = read_pairs("model='/m', dtype=torch.bfloat16, x=S(a='b', c=[1]), max_seq_len=51")
    assert reading.tree == {"model": "/m", "dtype": "torch.bfloat16", "x": {"a": "b", "c": [1]}}
    assert read_pairs("a=1, b=2", whole=True).tree == {"a": 1, "b": 2}


def test_deep_nesting_is_skipped_not_followed() -> None:
    reading = read_literal("[" * 5000 + "]" * 5000)
    assert reading is not None
    assert reading.end == 10_000


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("-1", -1), ("0.92", 0.92), ("1_000", 1000), ("None", None), ("true", True),
     ("auto", "auto"), ("1.2.3", "1.2.3"), ("", ""), ("9" * 60, "9" * 60), ("1e999", "1e999")],
)  # fmt: skip
def test_bare_words_become_scalars(text: str, value: object) -> None:
    assert scalar(text) == value


def test_camel_case_becomes_snake_case() -> None:
    assert snake("KVTransferConfig") == "kv_transfer_config"
    assert snake("tensorParallelSize") == "tensor_parallel_size"


def test_the_transfer_configuration_opens_up_and_its_extra_part_gets_a_short_name() -> None:
    tree = tree_of(
        "{'kv_transfer_config': C(kv_connector='MultiConnector', kv_connector_extra_config="
        "{'connectors': [{'kv_connector': 'A', 'kv_connector_extra_config': {'x': 1}}, "
        "{'kv_connector': 'B'}], 'backends': ['UCX', 'GDS']})}"
    )
    assert isinstance(tree, dict)
    assert dict(flatten(tree, {})) == {
        "kv_connector": "MultiConnector",
        "extra.connectors.0.kv_connector": "A",
        "extra.connectors.0.extra.x": 1,
        "extra.connectors.1.kv_connector": "B",
        "extra.backends": "UCX,GDS",
    }
