"""Reads a model's ``config.json``, alone or within a larger paste."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvdoctor.values.literals import Tree, read_literal
from kvdoctor.values.table import Table
from kvdoctor.values.value import Scalar, Value

LONGEST = 400_000
MOST_OBJECTS = 20
_SIGNS = ("architectures", "num_hidden_layers", "model_type", "num_attention_heads", "hidden_size")
_OPEN = re.compile(r"^[ \t]{0,40}\{", re.MULTILINE)


def find_configs(text: str) -> Iterator[tuple[dict[str, Tree], int]]:
    """The JSON objects of a text that look like a model's configuration, and their offsets."""
    if '"' not in text or not any(f'"{sign}"' in text for sign in _SIGNS):
        return
    behind, looked = 0, 0
    for found in _OPEN.finditer(text):
        if found.start() < behind or looked >= MOST_OBJECTS:
            continue
        looked += 1
        start = found.end() - 1
        reading = read_literal(text[start : start + LONGEST])
        if reading is None or not isinstance(reading.tree, dict):
            continue
        behind = start + reading.end
        if sum(sign in reading.tree for sign in _SIGNS) >= 2:
            yield reading.tree, start


def read_config(tree: Mapping[str, Tree], table: Table, number: int = 0) -> Iterator[Value]:
    """The values of one configuration; those of the text part of a multi-modal model."""
    inner = next(
        (part for key in ("text_config", "llm_config", "language_config")
         if isinstance(part := tree.get(key), dict)), None,
    )  # fmt: skip
    merged = {**tree, **inner} if inner else dict(tree)
    known: dict[str, Scalar] = {}
    for name, keys in table.model.items():
        value = next((merged[key] for key in keys if merged.get(key) is not None), None)
        if isinstance(value, bool | int | float | str):
            known[name] = value
    if merged.get("use_sliding_window") is False:
        known.pop("sliding_window", None)
    if isinstance(known.get("dtype"), str):
        known["dtype"] = str(known["dtype"]).removeprefix("torch.")
    for name, value in known.items():
        yield Value(name, value, "config", "this", number, why="the model's config.json")
    architectures = tree.get("architectures")
    if isinstance(architectures, list) and len(architectures) == 1:
        yield Value(
            "architecture", str(architectures[0]), "config", "this", number,
            why="the model's config.json",
        )  # fmt: skip
    for name, value, why in _implied(merged, known, table):
        yield Value(name, value, "inferred", "this", number, certainty="inferred", why=why)


def _implied(
    tree: Mapping[str, Tree], known: Mapping[str, Scalar], table: Table
) -> Iterator[tuple[str, Scalar, str]]:
    heads, size = known.get("num_attention_heads"), known.get("hidden_size")
    if "num_key_value_heads" not in known and isinstance(heads, int):
        if tree.get("multi_query") is True and not tree.get("new_decoder_architecture"):
            yield "num_key_value_heads", 1, "config.json says multi_query"
        elif not isinstance(tree.get("attn_config"), dict):
            yield "num_key_value_heads", heads, "config.json names no KV heads: one per head"
    attention = tree.get("attn_config")
    if isinstance(attention, dict) and isinstance(attention.get("kv_n_heads"), int):
        yield "num_key_value_heads", int(str(attention["kv_n_heads"])), "attn_config.kv_n_heads"
    if "head_dim" not in known and isinstance(heads, int) and isinstance(size, int) and heads > 0:
        yield "head_dim", size // heads, "hidden_size / num_attention_heads"
    kind = known.get("model_type")
    if kind is not None and table.mla_models:
        listed, ranked = kind in table.mla_models, known.get("kv_lora_rank") is not None
        if listed == ranked:  # otherwise it depends on the release
            yield "is_mla", listed, "model_type and kv_lora_rank in config.json"
    yield from _layers(tree, table)


def _layers(tree: Mapping[str, Tree], table: Table) -> Iterator[tuple[str, Scalar, str]]:
    types = tree.get("layer_types") or tree.get("layers_block_type")
    if isinstance(types, list) and types:
        kinds = {str(one) for one in types}
        yield "layer_types", ",".join(sorted(kinds)), "layer types in config.json"
        recurrent = kinds & table.recurrent_layers
        for name in ("is_hybrid", "has_mamba"):
            yield name, bool(recurrent), "layer types in config.json"
    elif any(key.startswith(("mamba_", "ssm_")) for key in tree) and "num_attention_heads" in tree:
        for name in ("is_hybrid", "has_mamba"):
            yield name, True, "Mamba keys in config.json"
