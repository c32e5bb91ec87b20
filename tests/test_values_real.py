"""Real logs, damaged texts, and the time that reading takes."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdoctor.intake import read
from kvdoctor.intake.paste import Line, LogRecord, Paste, Release
from kvdoctor.values import (
    Values,
    builtin_table,
    find_launches,
    read_command,
    read_hf_config,
    read_values,
    read_yaml,
)  # fmt: skip
from kvdoctor.values.literals import read_literal, read_pairs

TABLE = builtin_table()
CASES = Path(__file__).parent / "cases"


@lru_cache(maxsize=64)
def values_of(case: str, log: str, side: str) -> Values:
    return read_values(read((CASES / case / log).read_bytes(), log), side=side, table=TABLE)


SIDES = {"log.txt": "this", "prefill.log": "prefill", "decode.log": "decode"}
NOT_PRINTED = frozenset({"head_dim", "num_hidden_layers", "offload_block_size"})


def told(case: str) -> list[tuple[str, str, str, str]]:
    """(log, side, name, value) that a case's own description gives for plain values."""
    values = yaml.safe_load((CASES / case / "expect.yaml").read_text())["values"]
    result = []
    for log, side in SIDES.items():
        if not (CASES / case / log).exists():
            continue
        for name, value in values.items():
            text = str(value)
            parts = dict(part.split(": ") if ": " in part else part.split(" ")
                         for part in text.split(", ")) if ", " in text else {}  # fmt: skip
            own = parts.get(side, "" if parts else text)
            if own not in ("", "-") and name not in NOT_PRINTED:
                result.append((log, side, name, own))
    return result


ALL_CASES = sorted(path.parent.name for path in CASES.glob("*/expect.yaml"))


@pytest.mark.parametrize("case", ALL_CASES)
def test_no_real_log_is_read_as_something_else_than_it_was(case: str) -> None:
    """Whatever is found agrees with how the run was started; nothing is made up."""
    for log, side, name, value in told(case):
        name = f"extra.{name}" if name == "kv_lease_duration" else name
        found = values_of(case, log, side)
        own = next((one.value for one in found.entries if one.name == "side"), "this")
        entry = found.find(name, str(own))
        if entry is None or entry.certainty == "usual":
            continue
        if name == "kv_load_failure_policy" and side == "prefill":
            continue  # those runs set it on decode alone
        assert str(entry.value) == value, (log, name)


@pytest.mark.parametrize(
    ("case", "log", "name", "value", "certainty"),
    [
        ("050-nixl-healthy", "decode.log", "num_key_value_heads", 8, "stated"),
        ("050-nixl-healthy", "decode.log", "block_size", 128, "inferred"),
        ("050-nixl-healthy", "prefill.log", "kv_role", "kv_producer", "stated"),
        ("073-nixl-tp2-decode", "decode.log", "tensor_parallel_size", 2, "stated"),
        ("059-nixl-dtype-mismatch", "decode.log", "dtype", "float16", "stated"),
        ("061-nixl-blocksize-d-smaller", "decode.log", "block_size", 32, "stated"),
        ("070-nixl-expired-lease", "prefill.log", "extra.kv_lease_duration", 6, "stated"),
        ("069-nixl-prefill-killed-recompute", "decode.log", "kv_load_failure_policy", "recompute",
         "stated"),
        ("030-kv-dtype-not-on-cpu", "log.txt", "kv_cache_dtype", "int8_per_token_head", "stated"),
        ("028-kv-space-zero", "log.txt", "max_model_len", 2048, "stated"),
        ("032-dcp-divide", "log.txt", "decode_context_parallel_size", 2, "stated"),
        ("016-offloading-block-size", "log.txt", "extra.block_size", 48, "stated"),
        ("012-multi-bad-child", "log.txt", "extra.connectors.0.kv_connector", "NixlConnector",
         "stated"),
        ("035-jamba-no-hma", "log.txt", "disable_hybrid_kv_cache_manager", True, "stated"),
        ("121-healthy-debug", "log.txt", "num_key_value_heads", 8, "stated"),
        ("001-no-kv-role", "log.txt", "kv_connector", "NixlConnector", "stated"),
        ("088-mooncake-expired", "prefill.log", "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT", 5,
         "stated"),
    ],
)  # fmt: skip
def test_a_real_log_gives_its_values(
    case: str, log: str, name: str, value: object, certainty: str
) -> None:
    found = values_of(case, log, SIDES[log])
    own = next((one.value for one in found.entries if one.name == "side"), "this")
    entry = found.find(name, str(own))
    assert entry is not None
    assert (entry.value, entry.certainty) == (value, certainty)


def test_the_peer_of_a_real_decode_log_is_known_from_its_transfer_plan() -> None:
    entry = values_of("073-nixl-tp2-decode", "decode.log", "decode").find(
        "tensor_parallel_size", "prefill"
    )
    assert entry is not None
    assert entry.value == 1


# -- any input ---------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["non-default args: {", "'a': ", "KVTransferConfig(", "kv_role='kv_producer'", "}", ")", "'",
     '"', "{", "[", "<A: ", ">", "vllm serve ", "--kv-transfer-config ", "--a.b+ ", "\\\n", "\n",
     "(APIServer pid=1) INFO 01-01 10:00:00 [x.py:1] ", "Transfer plan: TransferTopology(",
     "local_tp=", "4", ", ", "apiVersion: v1\n", "args:\n", "  - ", ": ", "&a ", "*a", "|\n",
     "$(", "“", "’", "`", "export VLLM_X=", "docker run vllm/vllm-openai:v1 ", '{"model_type": ',
     "Initializing a V1 LLM engine (v0.3) with config: model=", "\x00", "\u2028", "é"]
)  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_a_reader_raise(parts: list[str]) -> None:
    text = "".join(parts)
    paste = read(text)
    read_values(paste, table=TABLE)
    find_launches(paste, table=TABLE, restate=True)
    read_command(text, TABLE)
    read_yaml(text, TABLE)
    read_hf_config(text, TABLE)
    read_literal(text)
    read_pairs(text)


@given(st.integers(0, 10_000), st.integers(0, 200))
@settings(max_examples=40, deadline=None)
def test_a_log_cut_anywhere_gives_nothing_that_the_whole_does_not_say(cut: int, drop: int) -> None:
    whole = (CASES / "073-nixl-tp2-decode" / "decode.log").read_text()
    names = ("tensor_parallel_size", "kv_role", "max_model_len", "kv_connector", "block_size")
    known = values_of("073-nixl-tp2-decode", "decode.log", "decode")
    part = read_values(read(whole[drop:cut]), side="decode", table=TABLE)
    for name in names:
        entry = part.find(name, "decode")
        if entry is None or entry.certainty == "usual":
            continue
        full = known.find(name, "decode")
        assert full is not None
        assert entry.value == full.value or (name == "tensor_parallel_size" and entry.value == 1)


def made_up(count: int) -> Paste:
    """A paste of ``count`` lines as the intake gives it: many log calls, few that matter."""
    lines, records = [], []
    for number in range(1, count + 1):
        text = f"Engine 000: Avg prompt throughput: {number}.0 tokens/s, Running: {number % 9} reqs"
        line = Line(number, text, text, "APIServer", 1, "INFO", "t", "loggers.py", number % 300)
        lines.append(line)
        records.append(
            LogRecord(number, number, "INFO", text, "APIServer", 1, "", "t", "loggers.py",
                      number % 300)
        )  # fmt: skip
    return Paste("-", tuple(lines), (), tuple(records), Release(), count * 80)


def test_a_long_log_costs_little() -> None:
    paste = made_up(200_000)
    start = time.process_time()
    read_values(paste, table=TABLE)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000, "['a'," * 60_000, "a(b" * 80_000, "{'a': 'b', " * 30_000, "<a" * 100_000,
        "vllm serve " * 20_000, "vllm serve m '" + "x" * 200_000, "$(" * 100_000, "\\\n" * 100_000,
        "vllm serve m " + "--a b " * 40_000, "/" * 200_000 + "vllm-openai", "A=" * 100_000,
        "export VLLM_X=" + "a" * 200_000 + "\n", "VLLM_X" + " " * 200_000 + "x",
        "`vllm serve " * 9000,
        "vllm serve m --kv-transfer-config '" + "[" * 100_000 + "'",
    ],
    ids=range(16),
)  # fmt: skip
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    lines = tuple(Line(i, t, t) for i, t in enumerate(text.split("\n"), 1))
    read_values(Paste("-", lines, (), (), Release(), len(text)), table=TABLE)
    read_literal(text)
    read_pairs(text)
    assert time.process_time() - start < 8
