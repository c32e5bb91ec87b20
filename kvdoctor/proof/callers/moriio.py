"""MoRIIO: TP sizes, block geometry, hybrid groups, addresses and options."""

from __future__ import annotations

import inspect
from typing import Any

from . import build
from .build import KV, PassedError, Stub, find, patched
from .registry import guard

CONNECTOR = f"{KV}.v1.moriio.moriio_connector"
COMMON = f"{KV}.v1.moriio.moriio_common"
MAPPING = f"{KV}.v1.moriio.moriio_tp_mapping"
LAYOUT = f"{KV}.v1.moriio.moriio_layout"


# ------------------------------------------------------------------ TP sizes


@guard("moriio-hetero-tp-heads", "moriio-tp-heads-positive")
def tp_and_heads(
    local_tp_size: int, remote_tp_size: int, total_num_kv_heads: int, is_mla: bool
) -> None:
    find(f"{CONNECTOR}:validate_moriio_heterogeneous_tp_kv_heads")(
        local_tp_size, remote_tp_size, total_num_kv_heads, is_mla
    )


@guard("moriio-remote-multiple", "moriio-local-multiple")
def remote_rank(local_tp_size: int, remote_tp_size: int) -> None:
    find(f"{CONNECTOR}:get_moriio_remote_tp_rank")(0, local_tp_size, remote_tp_size)


@guard("moriio-peer-tp-positive")
def peer_tp_size(local_tp_size: int, remote_tp_size: int) -> None:
    """The TP size that came with a request, as the handshake takes it."""
    method = find(f"{CONNECTOR}:MoRIIOConnectorWorker._remote_tp_rank")
    method(Stub(tp_rank=0, world_size=local_tp_size), remote_tp_size)


@guard("moriio-mamba-tp-ratio")
def mamba_tp_ratio(local_tp_size: int, remote_tp_size: int) -> None:
    method = find(f"{CONNECTOR}:MoRIIOConnectorWorker._mamba_tp_ratio")
    method(Stub(world_size=local_tp_size), remote_tp_size)


@guard("moriio-ack-multiple")
def expected_acks(producer_tp_size: int, consumer_tp_size: int) -> None:
    find(f"{CONNECTOR}:get_moriio_expected_ack_count")(producer_tp_size, consumer_tp_size)


@guard("moriio-write-tp-multiple", "moriio-write-tp-shard")
def write_topology(
    producer_tp_size: int, consumer_tp_size: int, total_num_kv_heads: int, is_mla: bool
) -> None:
    find(f"{MAPPING}:validate_write_tp_topology")(
        producer_tp_size, consumer_tp_size, total_num_kv_heads, is_mla
    )


@guard("moriio-read-heads-differ")
def read_heads(local_tp_size: int, remote_tp_size: int, total_num_kv_heads: int) -> None:
    """Both sides hold max(1, heads // TP) KV heads a rank, as vLLM shards them."""
    torch = find("torch")
    worker_class = find(f"{CONNECTOR}:MoRIIOConnectorWorker")
    head_layout = find(f"{LAYOUT}:get_layer_head_layout")
    find(f"{CONNECTOR}:MoRIIOConnectorWorker._compute_read_attention_offsets")
    layer = "model.layers.0.self_attn.attn"

    def worker(tp_size: int) -> Any:
        spec = build.full(16, max(1, total_num_kv_heads // tp_size))
        bare = object.__new__(worker_class)
        bare.zmq_context = None
        bare.world_size, bare.tp_rank, bare.num_blocks = tp_size, 0, 8
        bare.model_config = Stub(get_total_num_kv_heads=lambda: total_num_kv_heads)
        bare.layer_to_spec, bare.kv_layer_mr_offset = {layer: spec}, {}
        content = spec.state_content_size_bytes // 2
        bare.kv_caches = {
            layer: torch.zeros(8, spec.num_heads, spec.num_states, content, dtype=torch.float16)
        }
        made = head_layout(layer, bare.kv_caches[layer], bare.layer_to_spec)
        bare.kv_head_layouts = {layer: made}
        return bare

    here, there = worker(local_tp_size), worker(remote_tp_size)
    wire = Stub(num_blocks=8, kv_head_layouts={layer: there.kv_head_layouts[layer].to_wire()})
    here._compute_read_attention_offsets(layer, [0], [0], wire, remote_tp_size, "peer")


@guard("moriio-peer-block-size")
def peer_block_size(local: int, remote: int) -> None:
    find(f"{CONNECTOR}:MoRIIOConnectorWorker._check_peer_block_size")(
        Stub(attention_block_sizes={"layer": local}),
        "layer",
        Stub(attention_block_sizes={"layer": remote}),
    )


# ------------------------------------------------------------------ KV registration


class _Engine:
    """Stands behind the guards: the first registered tensor means that they let it through."""

    def shutdown(self) -> None:
        return None

    def register_local_tensor(self, tensor: Any) -> Any:
        raise PassedError


@guard("moriio-block-size", "moriio-block-len", "moriio-num-blocks")
def register_two_layers(
    layer_block_size: int,
    first_block_size: int,
    layer_heads: int = 2,
    first_heads: int = 2,
    layer_head_size: int = 64,
    first_head_size: int = 64,
    layer_num_blocks: int = 8,
    first_num_blocks: int = 8,
    disable_hybrid_kv_cache_manager: bool = False,
) -> None:
    """Two attention layers, each with K and V in one float16 tensor, as the model runner does."""
    torch = find("torch")
    worker_class = find(f"{CONNECTOR}:MoRIIOConnectorWorker")
    mode = find(f"{COMMON}:MoRIIOMode", f"{CONNECTOR}:MoRIIOMode")
    first, layer = "model.layers.0.self_attn.attn", "model.layers.1.self_attn.attn"
    sizes = {
        first: (first_num_blocks, first_block_size, first_heads, first_head_size),
        layer: (layer_num_blocks, layer_block_size, layer_heads, layer_head_size),
    }
    bare = object.__new__(worker_class)
    bare.layer_to_spec = {name: build.full(*size[1:]) for name, size in sizes.items()}
    caches = {
        name: torch.empty(blocks, 2, *size, dtype=torch.float16, device="meta")
        for name, (blocks, *size) in sizes.items()
    }
    bare._transfer_layer_names = set(sizes)
    bare.mode, bare.block_size, bare.engine_id = mode.READ, first_block_size, "e"
    for empty in (
        "dst_num_blocks",
        "block_lens",
        "layer_base_addr_index",
        "layer_name_to_local_kv_cache_metadata",
        "kv_layer_mr_offset",
    ):
        setattr(bare, empty, {})
    bare.local_kv_cache_size = []
    bare.moriio_wrapper, bare.zmq_context, bare.world_size = _Engine(), None, 1
    bare._handshake_initiation_executor = Stub(shutdown=lambda wait: None)
    bare.vllm_config = Stub(
        scheduler_config=Stub(disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager)
    )
    try:
        worker_class.register_kv_caches(bare, caches)
    except PassedError:
        return


# ------------------------------------------------------------------ worker, options, addresses


@guard("moriio-not-available")
def library(mori_installed: bool) -> None:
    """With the library the constructor goes on and stops at the first field of the empty config."""
    module = find(CONNECTOR)
    config = Stub(kv_transfer_config=None)
    with patched(module, MoRIIO_enabled=mori_installed):
        try:
            module.MoRIIOConnectorWorker(config, "e", None)
        except (AssertionError, AttributeError):
            return


def _options(**extra: Any) -> None:
    module = find(COMMON)
    given: dict[str, Any] = {
        "notify_port": "61005",
        "handshake_port": "6301",
        "http_port": 8000,
        "host_ip": "127.0.0.1",
    }
    parallel = Stub(data_parallel_rank=0, data_parallel_size_local=1, data_parallel_size=1)
    config = Stub(
        kv_transfer_config=build.transfer("MoRIIOConnector", **{**given, **extra}),
        parallel_config=parallel,
    )
    with patched(
        module,
        get_tensor_model_parallel_rank=lambda: 0,
        get_tensor_model_parallel_world_size=lambda: 1,
    ):
        module.MoRIIOConfig.from_vllm_config(config)


@guard("moriio-backend")
def backend_option(backend: str) -> None:
    _options(backend=backend)


@guard("moriio-timeout")
def timeout_option(name: str, value: float | str) -> None:
    """``name``: transfer_timeout, defer_timeout or recv_abort_timeout, in seconds."""
    _options(**{name: value})


@guard("moriio-zmq-address")
def zmq_address(zmq_address: str) -> None:
    find(f"{COMMON}:parse_moriio_zmq_address")(zmq_address)


@guard("moriio-missing-peer")
def peer_in_request(
    request_id: str, remote_host: bool, remote_handshake_port: bool, remote_notify_port: bool
) -> None:
    """The three flags say whether the router put that key into kv_transfer_params."""
    params: dict[str, Any] = {
        "transfer_id": "t",
        "remote_block_ids": [],
        "remote_engine_id": "e",
    }
    if remote_host:
        params["remote_host"] = "10.0.0.1"
    if remote_handshake_port:
        params["remote_handshake_port"] = 6301
    if remote_notify_port:
        params["remote_notify_port"] = 61005
    find(f"{COMMON}:MoRIIOConnectorMetadata")().add_new_req(request_id, [], params)


# ------------------------------------------------------------------ scheduler with KV groups


def _scheduler(
    specs: list[Any], read_mode: bool, disable_hybrid_kv_cache_manager: bool, method: str = ""
) -> None:
    extra: dict[str, Any] = {
        "handshake_port": "1",
        "notify_port": "2",
        "host_ip": "127.0.0.1",
    }
    if read_mode:
        extra["read_mode"] = "true"
    speculative = None
    if method:
        speculative = Stub(
            method=method, use_dspark=lambda: method == "dspark", use_eagle=lambda: False
        )
    config = Stub(
        kv_transfer_config=build.transfer("MoRIIOConnector", "kv_producer", **extra),
        cache_config=Stub(block_size=16, mamba_cache_mode="align"),
        scheduler_config=Stub(disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager),
        parallel_config=Stub(
            tensor_parallel_size=1,
            data_parallel_rank=0,
            data_parallel_size_local=1,
            data_parallel_size=1,
            decode_context_parallel_size=1,
        ),
        speculative_config=speculative,
        num_lookahead_tokens=0,
        num_speculative_tokens=0,
    )
    scheduler = find(f"{CONNECTOR}:MoRIIOConnectorScheduler")
    if "kv_cache_config" not in inspect.signature(scheduler).parameters:
        raise build.GoneError("this release's MoRIIO scheduler does not look at KV cache groups")
    scheduler(config, "e", build.cache_layout(*specs))


@guard(
    "moriio-write-swa",
    "moriio-hybrid-spec",
    "moriio-mamba-read-only",
    "moriio-write-spec-swa",
    "moriio-mamba-two-attn",
    "moriio-hybrid-spec-decode",
)
def scheduler_groups(
    read_mode: bool,
    disable_hybrid_kv_cache_manager: bool,
    full_groups: int = 1,
    sliding_window_groups: int = 0,
    mamba_groups: int = 0,
    chunked_local_groups: int = 0,
    speculative_method: str = "",
) -> None:
    """Numbers of KV cache groups by kind; ``speculative_method`` "" = no speculative decoding."""
    specs = [build.full(16 * (i + 1)) for i in range(full_groups)]
    specs += [build.sliding(16, window=64 * (i + 1)) for i in range(sliding_window_groups)]
    specs += [build.chunked() for _ in range(chunked_local_groups)]
    specs += [build.mamba(16) for _ in range(mamba_groups)]
    _scheduler(specs, read_mode, disable_hybrid_kv_cache_manager, speculative_method)
