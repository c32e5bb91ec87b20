"""What log lines state, over all releases, and whose side they speak of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvdoctor.errors import RecordError
from kvdoctor.intake import read
from kvdoctor.intake.paste import Paste, Release
from kvdoctor.values import builtin_table, find_launches, load_table, merge, read_values, side_of
from kvdoctor.values.sides import side_in_name
from kvdoctor.values.value import Value, Values

TABLE = builtin_table()
PREFILL_ARGS = (
    "(APIServer pid=1) INFO 01-01 10:00:00 [api_utils.py:286] non-default args: "
    "{'model': '/m', 'tensor_parallel_size': 4, 'kv_transfer_config': KVTransferConfig("
    "kv_connector='NixlConnector', engine_id='a', kv_role='kv_producer', kv_port=14579, "
    "kv_connector_extra_config={'kv_lease_duration': 6}, kv_load_failure_policy='fail')}"
)
DECODE_ARGS = PREFILL_ARGS.replace("kv_producer", "kv_consumer").replace("pid=1)", "pid=2)")


def paste(text: str, *candidates: str, name: str = "-") -> Paste:
    found = read(text, name)
    if not candidates:
        return found
    return replace(found, release=Release(candidates[0], candidates, "banner"))


def values(text: str, *candidates: str, name: str = "-", side: str = "this") -> Values:
    return read_values(paste(text, *candidates, name=name), side=side, table=TABLE)


def one(text: str, name: str, side: str = "this", *candidates: str) -> object:
    entry = values(text, *candidates).find(name, side)
    assert entry is not None, name
    return entry.value


def line(message: str, process: str = "Worker_TP0", level: str = "INFO", pid: int = 7) -> str:
    return f"({process} pid={pid}) {level} 01-01 10:00:00 [some_file.py:10] {message}"


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        ("Forcing kv cache block size to 64 for FlashMLA backend.", "block_size", 64),
        ("Setting kv cache block size to 64 for FLASHMLA backend.", "block_size", 64),
        ("Setting kv cache block size to 64 for A/B backend(s).", "block_size", 64),
        ("[ROCM_AITER_UNIFIED_ATTN]: Setting kv cache block size to 64.", "block_size", 64),
        ("Setting attention block size to 528 tokens to ensure that attention page size is >= "
         "mamba page size.", "block_size", 528),
        ("Setting attention block size to 32 tokens so the quantized primary KV page covers the "
         "higher-precision padded-spec page.", "block_size", 32),
        ("[XPU]Setting attention block size to 576 tokens to ensure multiple of 64.",
         "block_size", 576),
        ("User-specified logical block size (128) does not match physical kernel block size (64). "
         "Using the latter.", "kernel_block_size", 64),
        ("KV cache block_size=64 differs from config block_size=16; using actual tensor shape "
         "(attention backend override).", "kernel_block_size", 64),
        ("KV cache block_size=64 differs from config block_size=16; using actual tensor shape "
         "(attention backend override).", "block_size", 16),
        ("GPU KV cache size: 1,234,560 tokens", "kv_cache_tokens", 1234560),
        ("GPU KV cache size: 524,288 tokens, Maximum concurrency for 8,192 tokens per request: "
         "64.00x", "max_concurrency", 64),
        ("CPU KV cache size: 524,288 tokens, Maximum concurrency for 512 tokens per request: "
         "1024.00x", "max_model_len", 512),
        ("Maximum concurrency for 32,768 tokens per request: 5.12x", "max_concurrency", 5.12),
        ("Creating v1 connector with name: MooncakeConnector and engine_id: abc", "kv_connector",
         "MooncakeConnector"),
        ("Creating v1 connector with name: NixlPullConnector and engine_id: abc", "kv_connector",
         "NixlConnector"),
        ("Turning off hybrid kv cache manager because `--kv-transfer-config` is set. This will "
         "reduce the performance of vLLM on LLMs with sliding window attention.",
         "disable_hybrid_kv_cache_manager", True),
        ("Turning off hybrid kv cache manager because connector X does not subclass `SupportsHMA`.",
         "disable_hybrid_kv_cache_manager", True),
        ("NixlConnector setting KV cache layout to HND for better xfer performance.",
         "kv_cache_layout", "HND"),
        ("Detected kv cache layout LBHNC", "kv_cache_layout", "LBHNC"),
        ("Using LBNHC KV cache layout.", "kv_cache_layout", "LBNHC"),
        ("`VLLM_KV_CACHE_LAYOUT` environment variable detected. Setting KV cache layout to HND.",
         "VLLM_KV_CACHE_LAYOUT", "HND"),
        ("Registering KV_Caches. use_mla: True, kv_buffer_device: cuda, use_host_buffer: False",
         "is_mla", True),
        ("Registering KV_Caches. use_mla: False", "is_mla", False),
        ("The Mooncake Transfer Engine is using rdma as its protocol.", "extra.mooncake_protocol",
         "rdma"),
        ("Mooncake Bootstrap Server started at 0.0.0.0:8998", "VLLM_MOONCAKE_BOOTSTRAP_PORT", 8998),
        ("Starting listening on path: tcp://10.0.0.1:5601", "VLLM_NIXL_SIDE_CHANNEL_PORT", 5601),
        ("MoRIIO Connector read_mode: True", "extra.read_mode", True),
        ("Using MoRIIO backend: RDMA (qp_per_transfer=2, post_batch_size=-1, num_workers=4)",
         "extra.num_workers", 4),
        ("Available KV cache memory: 12.34 GiB", "available_kv_cache_gib", 12.34),
        ("Using max model len 131072", "max_model_len", 131072),
        ("rank 3 in world size 8 is assigned as DP rank 0, PP rank 0, TP rank 3, EP rank 3",
         "world_size", 8),
        ("rank 0 in world size 1 is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank 0, EP "
         "rank N/A, EPLB rank N/A", "tensor_parallel_size", 1),
        ("use mla: False, kv shape: (32, 2, 256, 4, 128), num_mtp_layers: 0",
         "num_kv_heads_per_rank", 4),
        ("LMCache initialized for role KVConnectorRole.WORKER with version 0.3.9, vllm version "
         "0.12.0, lmcache cache_engine metadata: LMCacheEngineMetadata(model_name='m', "
         "world_size=2, worker_id=0, fmt='vllm', kv_dtype=torch.bfloat16, kv_shape=(32, 2, 256, 4, "
         "128), use_mla=False)", "num_kv_heads_per_rank", 4),
        ("LMCache initialized for role x with version 0.3.9, vllm version 0.12.0, lmcache "
         "cache_engine metadata: None", "lmcache_version", "0.3.9"),
        ("Chunked prefill is enabled with max_num_batched_tokens=8192.", "max_num_batched_tokens",
         8192),
        ("Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: 4096",
         "num_gpu_blocks", 4096),
        ("Mamba cache mode is set to 'align' for X by default when prefix caching is enabled",
         "mamba_cache_mode", "align"),
    ],
)  # fmt: skip
def test_a_line_states_its_value_in_whatever_release(
    message: str, name: str, value: object
) -> None:
    assert one(line(message, process="EngineCore"), name) == value


@pytest.mark.parametrize(
    ("plan", "heads"),
    [
        ("TransferTopology(tp_ratio=2, K=8, local_tp=4, remote_tp=2, local_rank=1, "
         "remote_block_len=32768)", 8),
        ("TransferTopology.mamba(tp_ratio=2, K=8, local_tp=4, remote_tp=2, local_rank=0, "
         "remote_block_len=32768, fa_reads=1, mamba_reads=2, fa_sources=[0], all_sources=[0, 1], "
         "fa_desc_bytes=64)", 8),
        ("TransferTopology(tp_ratio=2, num_kv_heads=8, local_tp=4, remote_tp=2, local_rank=1, "
         "remote_block_len=32768)", 8),
        ("TransferTopology(tp_ratio=2, num_kv_heads=8, local_tp=4, remote_tp=2, remote_pp=0, "
         "local_dcp=1, remote_dcp=1, local_rank=1, remote_block_len=32768)", 8),
    ],
)  # fmt: skip
def test_the_transfer_plan_tells_both_sides_in_every_release(plan: str, heads: int) -> None:
    text = DECODE_ARGS + "\n" + line("Transfer plan: " + plan)
    text = text.replace("'tensor_parallel_size': 4, ", "")
    found = values(text)
    assert found.find("tensor_parallel_size", "decode").value == 4  # type: ignore[union-attr]
    assert found.find("tensor_parallel_size", "prefill").value == 2  # type: ignore[union-attr]
    assert found.find("num_key_value_heads", "decode").value == heads  # type: ignore[union-attr]


def test_each_log_tells_the_version_of_its_side() -> None:
    entry = values(DECODE_ARGS, "0.32.0").find("vllm_version", "decode")
    assert entry is not None
    assert (entry.value, entry.certainty) == ("0.32.0", "stated")
    assert values(DECODE_ARGS).find("vllm_version", "decode") is None


def test_the_plan_of_a_hybrid_model_says_so() -> None:
    plan = "TransferTopology.mamba(K=8, local_tp=4, remote_tp=2, fa_reads=1, mamba_reads=2)"
    assert one(line("Transfer plan: " + plan), "has_mamba") is True


def test_a_plan_of_unknown_side_speaks_of_this_and_the_other() -> None:
    found = values(line("Transfer plan: TransferTopology(num_kv_heads=8, local_tp=4, remote_tp=2)"))
    assert found.find("tensor_parallel_size", "this").value == 4  # type: ignore[union-attr]
    assert found.find("tensor_parallel_size", "other").value == 2  # type: ignore[union-attr]


def test_one_kv_head_in_the_plan_counts_only_when_the_model_is_known_not_to_be_mla() -> None:
    plan = line("Transfer plan: TransferTopology(num_kv_heads=1, local_tp=4, remote_tp=2)")
    mla = line("Registering KV_Caches. use_mla: {}, kv_buffer_device: cuda, use_host_buffer: False")
    assert values(plan).find("num_key_value_heads").certainty == "inferred"  # type: ignore[union-attr]
    assert values(plan + "\n" + mla.format("True")).find("num_key_value_heads") is None
    known = values(plan + "\n" + mla.format("False")).find("num_key_value_heads")
    assert known is not None
    assert (known.value, known.certainty) == (1, "stated")


def test_the_arguments_and_the_engine_line_are_read_and_renamed() -> None:
    banner = line(
        "Initializing a V1 LLM engine (v0.20.0) with config: model='/m', speculative_config=None, "
        "dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=4, quantization=fp8, "
        "kv_cache_dtype=fp8_e4m3, device_config=cuda, served_model_name=x, "
        "enable_prefix_caching=True, compilation_config={'mode': <CompilationMode.NONE: 0>}",
        process="EngineCore",
    )
    found = values(PREFILL_ARGS + "\n" + banner)
    read_back = {entry.name: entry.value for entry in found.entries if entry.side == "prefill"}
    expected = {
        "max_model_len": 4096, "dtype": "bfloat16", "kv_cache_dtype": "fp8_e4m3",
        "quantization": "fp8", "device": "cuda", "extra.kv_lease_duration": 6,
        "kv_role": "kv_producer", "kv_load_failure_policy": "fail", "served_model_name": "x",
    }  # fmt: skip
    assert {name: read_back.get(name) for name in expected} == expected
    assert "compilation_config.mode" not in read_back


def test_a_crash_dump_alone_tells_sizes() -> None:
    text = line(
        "Dumping input data for V1 LLM engine (v0.28.1rc1.dev50+gabc) with config: model='m', "
        "tensor_parallel_size=8, pipeline_parallel_size=2, data_parallel_size=1, seed=0, ",
        process="EngineCore", level="ERROR",
    )  # fmt: skip
    assert one(text, "tensor_parallel_size") == 8
    assert one(text, "pipeline_parallel_size") == 2


def test_a_metric_line_gives_the_resolved_block_size_before_any_log_line() -> None:
    text = (
        line("Setting kv cache block size to 64 for FLASHMLA backend.") + "\n"
        'vllm:cache_config_info{block_size="128",cache_dtype="auto",engine="0",kv_cache_layout="HND"'
        ',num_gpu_blocks="512",sliding_window="None",user_specified_block_size="True"} 1.0'
    )
    assert one(text, "block_size") == 128
    assert one(text, "user_specified_block_size") is True


def test_a_transfer_failure_tells_whom_it_was_talking_to() -> None:
    text = line(
        "NIXL transfer failure: handshake_failed | Context: {'failure_type': 'handshake_failed', "
        "'request_id': 'r', 'engine_id': 'a', 'remote_engine_id': 'b', 'remote_host': '10.0.0.2', "
        "'remote_port': 5600, 'num_local_blocks': 2}", level="ERROR",
    )  # fmt: skip
    assert one(text, "remote_host") == "10.0.0.2"
    assert one(text, "remote_port") == 5600


def test_the_input_of_a_rejected_configuration_is_read_only_when_it_is_whole() -> None:
    text = (
        "vllm serve: error: argument --kv-transfer-config: 1 validation error for KVTransferConfig"
        "\n  Value error, Please specify kv_role [type=value_error, input_value={}, "
        "input_type=dict]\n"
    )
    whole = text.replace("{}", "{'kv_connector': 'NixlConnector'}")
    assert values(whole).find("kv_connector").value == "NixlConnector"  # type: ignore[union-attr]
    shortened = text.replace("{}", "{'kv_connector': 'Nixl...role': 'kv_both'}")
    assert values(shortened).find("kv_connector") is None


def test_a_custom_log_head_does_not_hide_the_message() -> None:
    text = "2026-08-18 14:42:11,382 INFO vllm.entrypoints.x: " + PREFILL_ARGS.partition("] ")[2]
    assert one(text, "kv_role", "prefill") == "kv_producer"


@pytest.mark.parametrize("width", [80, 100, 120, 150])
def test_arguments_wrapped_by_a_terminal_are_read_whole(width: int) -> None:
    pieces = [PREFILL_ARGS[at : at + width] for at in range(0, len(PREFILL_ARGS), width)]
    found = values("\n".join([*pieces, line("Using max model len 9", "EngineCore")]))
    for name, value in (("tensor_parallel_size", 4), ("extra.kv_lease_duration", 6)):
        entry = found.find(name, "prefill")
        assert entry is not None
        assert entry.value == value


def test_lines_that_are_no_continuation_complete_nothing() -> None:
    cut = PREFILL_ARGS[: PREFILL_ARGS.index("4, 'kv_tr") + 1]
    found = values(cut + "\nTraceback (most recent call last):\n  File 'x', line 1")
    assert found.find("tensor_parallel_size").certainty == "usual"  # type: ignore[union-attr]
    assert found.find("model").value == "/m"  # type: ignore[union-attr]


# -- sides -------------------------------------------------------------------------------------


def test_the_role_tells_the_side_and_the_user_may_overrule_it() -> None:
    assert side_of(values(PREFILL_ARGS)) == "prefill"
    assert side_of(values(DECODE_ARGS)) == "decode"
    assert side_of(values(PREFILL_ARGS.replace("kv_producer", "kv_both"))) == "this"
    assert side_of(values(DECODE_ARGS, side="prefill")) == "prefill"
    found = values(DECODE_ARGS, side="prefill")
    assert found.find("tensor_parallel_size", "prefill").value == 4  # type: ignore[union-attr]


def test_the_name_of_the_input_tells_the_side_when_nothing_better_does() -> None:
    both = PREFILL_ARGS.replace("kv_producer", "kv_both")
    assert side_of(values(both, name="logs/decode-0.log")) == "decode"
    assert side_of(values(both, name="prefill-and-decode.log")) == "this"


@pytest.mark.parametrize(
    ("name", "side"),
    [("vllm-prefill-0", "prefill"), ("x-decoder-7f", "decode"), ("VllmDecodeWorker", "decode"),
     ("prefiller", "prefill"), ("chunked", ""), ("decodedb", ""), ("predecode", ""), ("", "")],
)  # fmt: skip
def test_a_name_tells_its_side(name: str, side: str) -> None:
    assert side_in_name(name) == side


def test_two_servers_in_one_text_keep_their_values_apart() -> None:
    second = DECODE_ARGS.replace("'tensor_parallel_size': 4", "'tensor_parallel_size': 2")
    engine = line("Using max model len 100", "EngineCore", pid=11)
    other = line("Using max model len 200", "EngineCore", pid=12)
    found = values("\n".join([PREFILL_ARGS, engine, second, other]))
    assert side_of(found) == "this"
    assert found.find("tensor_parallel_size", "prefill").value == 4  # type: ignore[union-attr]
    assert found.find("tensor_parallel_size", "decode").value == 2  # type: ignore[union-attr]
    assert found.find("max_model_len", "prefill").value == 100  # type: ignore[union-attr]
    assert found.find("max_model_len", "decode").value == 200  # type: ignore[union-attr]


def test_servers_that_start_at_the_same_time_are_not_mixed_up() -> None:
    engines = [line(f"Using max model len {pid}", "EngineCore", pid=pid) for pid in (11, 12)]
    found = values("\n".join([PREFILL_ARGS, DECODE_ARGS, *engines]))
    assert found.find("max_model_len", "prefill") is None
    assert found.find("max_model_len", "decode") is None


def test_a_restarted_server_speaks_for_itself_before_its_first_run() -> None:
    later = PREFILL_ARGS.replace("'tensor_parallel_size': 4", "'tensor_parallel_size': 8")
    found = values("\n".join([PREFILL_ARGS, line("x", "EngineCore", pid=9), later]))
    assert found.find("tensor_parallel_size", "prefill").value == 8  # type: ignore[union-attr]


def test_two_logs_together_let_each_side_speak_for_itself() -> None:
    plan = line("Transfer plan: TransferTopology(num_kv_heads=8, local_tp=2, remote_tp=16)")
    decode = values(
        DECODE_ARGS.replace("'tensor_parallel_size': 4", "'tensor_parallel_size': 2") + "\n" + plan
    )
    assert decode.find("tensor_parallel_size", "prefill").value == 16  # type: ignore[union-attr]
    both = merge(decode, values(PREFILL_ARGS))
    assert both.find("tensor_parallel_size", "prefill").value == 4  # type: ignore[union-attr]
    assert both.find("tensor_parallel_size", "decode").value == 2  # type: ignore[union-attr]
    assert side_of(both) == "decode"


def test_a_text_of_unknown_side_is_the_peer_of_a_known_one() -> None:
    unknown = values(line("Using max model len 7"))
    both = merge(values(DECODE_ARGS), unknown)
    assert both.find("max_model_len", "prefill").value == 7  # type: ignore[union-attr]


# -- what nobody wrote -------------------------------------------------------------------------

STARTED = (
    PREFILL_ARGS.replace("'tensor_parallel_size': 4, ", "")
    + "\n"
    + line("Initializing a V1 LLM engine (v0.32.0) with config: model='m', "
           "device_config=DEVICE, x=1", "EngineCore")
)  # fmt: skip
PLANNED = line("GPU KV cache size: 1,000 tokens, Maximum concurrency for 10 tokens per request: "
               "1.00x", "EngineCore")  # fmt: skip


@pytest.mark.parametrize(("device", "size"), [("cuda", 16), ("cpu", 128)])
def test_a_full_start_without_a_word_of_it_implies_the_block_size(device: str, size: int) -> None:
    entry = values(STARTED.replace("DEVICE", device) + "\n" + PLANNED).find("block_size", "prefill")
    assert entry is not None
    assert (entry.value, entry.certainty) == (size, "inferred")


def test_half_a_start_up_log_implies_no_block_size() -> None:
    assert values(STARTED.replace("DEVICE", "cuda")).find("block_size", "prefill") is None
    assert values(PLANNED).find("block_size") is None
    other = STARTED.replace("DEVICE", "npu") + "\n" + PLANNED
    assert values(other).find("block_size", "prefill") is None
    cut = STARTED.replace("DEVICE", "cuda").replace("_policy='fail')}", "_pol")
    assert values(cut + "\n" + PLANNED).find("block_size", "prefill") is None


def test_an_argument_missing_from_the_whole_list_is_the_default() -> None:
    entry = values(STARTED).find("tensor_parallel_size", "prefill")
    assert entry is not None
    assert (entry.value, entry.certainty) == (1, "inferred")


@pytest.mark.parametrize(
    ("release", "share"), [("0.19.1", 0.9), ("0.20.2", 0.92), ("0.33.0", 0.92)]
)
def test_the_memory_share_follows_the_release(release: str, share: float) -> None:
    assert one(STARTED, "gpu_memory_utilization", "prefill", release) == share


@pytest.mark.parametrize(
    ("candidates", "policy"),
    [(("0.16.0",), "recompute"), (("0.17.1",), "fail"), (("0.33.0",), "fail"),
     (("0.16.0", "0.17.1"), None), (("0.12.0",), None), ((), None)],
)  # fmt: skip
def test_a_release_default_is_offered_as_usual_only_when_every_candidate_shares_it(
    candidates: tuple[str, ...], policy: str | None
) -> None:
    entry = values("nothing here", *candidates).find("kv_load_failure_policy")
    assert (entry.value if entry else None) == policy
    assert entry is None or entry.certainty == "usual"


def test_workers_without_a_gap_tell_the_tp_size_and_a_single_rank_only_a_lower_bound() -> None:
    all_four = "\n".join(line("hello", f"Worker_TP{rank}", pid=rank + 1) for rank in range(4))
    entry = values(all_four).find("tensor_parallel_size")
    assert entry is not None
    assert (entry.value, entry.certainty) == (4, "inferred")
    lone = values(line("hello", "Worker_DP0_TP5"))
    assert lone.find("tensor_parallel_size_at_least").value == 6  # type: ignore[union-attr]
    assert lone.find("tensor_parallel_size").certainty == "usual"  # type: ignore[union-attr]


def test_every_value_names_the_line_and_the_input_it_came_from() -> None:
    found = values("\n\n" + PREFILL_ARGS, name="prefill.log")
    entry = found.find("kv_role", "prefill")
    assert entry == Value(
        "kv_role", "kv_producer", "log", "prefill", 3, "prefill.log", "stated", "non-default args",
        start=1,
    )  # fmt: skip


def test_the_command_behind_a_log_is_restated_without_what_vllm_added() -> None:
    (launch,) = find_launches(paste(PREFILL_ARGS), table=TABLE, restate=True)
    assert (launch.side, launch.origin) == ("prefill", "log")
    assert launch.command.text == (
        "vllm serve /m \\\n  --tensor-parallel-size 4 \\\n  --kv-transfer-config "
        '\'{"kv_connector": "NixlConnector", "kv_role": "kv_producer", '
        '"kv_connector_extra_config": {"kv_lease_duration": 6}, "kv_load_failure_policy": "fail"}\''
    )
    assert find_launches(paste(PREFILL_ARGS), table=TABLE) == ()
    assert find_launches(paste(PREFILL_ARGS[:-30]), table=TABLE, restate=True) == ()


# -- the table ---------------------------------------------------------------------------------


def test_every_template_of_the_shipped_table_compiles_and_finds_its_own_anchor() -> None:
    assert len(TABLE.lines) > 60
    for spec in TABLE.lines:
        assert spec.pattern.literal_chars >= 8, spec.id
        assert spec.anchor in spec.message.replace("{{", "{").replace("}}", "}"), spec.id


def test_the_table_knows_the_names_it_gives() -> None:
    names = TABLE.names()
    assert {"block_size", "num_key_value_heads", "tensor_parallel_size", "is_mla"} <= names
    assert "engine_id" in names
    assert "no_such_value" not in names


def test_line_ids_are_unique() -> None:
    ids = [spec.id for spec in TABLE.lines]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "x"},
        {"id": "x", "message": "a {b}", "values": {"n": "c"}},
        {"id": "x", "message": "a {b}", "values": {"n": {"from": "b", "type": "colour"}}},
        {"id": "x", "message": "a {b}", "values": {"n": {"type": "int"}}},
        {"id": "x", "message": "a {b}", "trees": {"b": {"form": "xml"}}},
    ],
)
def test_a_broken_entry_is_refused_with_its_place(entry: dict[str, object]) -> None:
    with pytest.raises(RecordError) as caught:
        load_table({"lines": [entry]})
    assert "lines" in caught.value.field


def test_a_table_of_other_lines_reads_other_values() -> None:
    table = load_table(
        {"lines": [{"id": "weather", "message": "it is {degrees} degrees in {town}",
                    "values": {"degrees": {"from": "degrees", "type": "int"}, "town": "town"}}]}
    )  # fmt: skip
    found = read_values(read("it is 21 degrees in Graz"), table=table)
    assert [(one.name, one.value) for one in found.entries] == [("degrees", 21), ("town", "Graz")]
