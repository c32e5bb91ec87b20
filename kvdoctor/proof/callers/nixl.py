"""NIXL: parallel sizes of one side, and the handshake between two sides."""

from __future__ import annotations

import threading
from typing import Any

from . import build
from .build import KV, PassedError, Stub, find, patched
from .registry import guard

CONNECTOR = f"{KV}.v1.nixl.connector"
WORKER = f"{KV}.v1.nixl.base_worker"
TOPOLOGY = f"{KV}.utils:TransferTopology"
LAYOUT_ENUM = "vllm.v1.kv_cache_interface:KVCacheLayout"


def _passed(*_: Any, **__: Any) -> Any:
    raise PassedError


# ------------------------------------------------------------------ one side


@guard("nixl-pcp-producer-only", "nixl-pcp-dcp", "nixl-pcp-bidirectional", "nixl-push-dcp")
def connector(
    kv_connector: str = "NixlConnector",
    kv_role: str = "kv_producer",
    tp: int = 1,
    pcp: int = 1,
    dcp: int = 1,
    bidirectional_kv_xfer: bool = False,
) -> None:
    """The connector's constructor up to the creation of the scheduler half."""
    module = find(CONNECTOR)
    extra: dict[str, Any] = {"bidirectional_kv_xfer": True} if bidirectional_kv_xfer else {}
    transfer = build.transfer(kv_connector, kv_role, **extra)
    config = Stub(
        kv_transfer_config=transfer,
        parallel_config=Stub(
            tensor_parallel_size=tp,
            prefill_context_parallel_size=pcp,
            decode_context_parallel_size=dcp,
        ),
    )
    halves = [name for name in vars(module) if name.endswith("ConnectorScheduler")]
    connector_class = find(f"{KV}.factory:KVConnectorFactory").get_connector_class(transfer)
    with patched(module, **dict.fromkeys(halves, _passed)):
        try:
            connector_class(config, build.scheduler_role(), build.cache_layout(build.full()))
        except PassedError:
            return


@guard("nixl-not-available")
def library(nixl_installed: bool) -> None:
    """With the library the constructor goes on and stops at the first field of the empty config."""
    module = find(WORKER)
    with patched(module, NixlWrapper=object if nixl_installed else None):
        try:
            module.NixlBaseConnectorWorker(Stub(kv_transfer_config=None), "e", None)
        except (AssertionError, AttributeError):
            return


# ------------------------------------------------------------------ topology


@guard("nixl-tp-ratio", "nixl-tp-ratio-remote")
def tp_ratio(local_tp_size: int, remote_tp_size: int) -> None:
    find(f"{TOPOLOGY}.tp_ratio")(Stub(tp_size=local_tp_size), remote_tp_size)


@guard("nixl-block-ratio")
def block_ratio(local_block_size: int, remote_block_size: int) -> None:
    find(f"{TOPOLOGY}.block_size_ratio")(Stub(block_size=local_block_size), remote_block_size)


@guard("nixl-pcp-dcp-peer", "nixl-remote-pcp-dcp")
def context_parallel_peer(
    local_pcp_size: int, local_dcp_size: int, remote_pcp_size: int, remote_dcp_size: int
) -> None:
    find(f"{WORKER}:NixlBaseConnectorWorker._validate_remote_parallel_config")(
        Stub(pcp_size=local_pcp_size, dcp_size=local_dcp_size),
        Stub(pcp_size=remote_pcp_size, dcp_size=remote_dcp_size),
    )


# ------------------------------------------------------------------ handshake


def _layout(name: str) -> str:
    """A layout as this release writes it into the handshake; "" is the head-major one."""
    try:
        known = [member.name for member in find("vllm.config.cache:KVCacheLayout", LAYOUT_ENUM)]
    except build.GoneError:
        known = ["HND", "NHD"]
    if not name:
        return "HND" if "HND" in known else "LBHNC"
    if name not in known:
        raise build.ForeignValueError(f"this release has no KV cache layout {name}")
    return name


def _topology(tp: int, rtp: int, block: int, heads: int, is_mla: bool, rdcp: int) -> Stub:
    real = find(TOPOLOGY)
    made = Stub(
        tp_size=tp,
        block_size=block,
        total_num_kv_heads=heads,
        is_mla=is_mla,
        local_physical_heads=max(1, heads // tp),
        _engines={},
    )
    made.get_engine_info = lambda _: Stub(remote_tp_size=rtp, remote_dcp_size=rdcp)
    made.tp_ratio = lambda remote: real.tp_ratio(made, remote)
    made.block_size_ratio = lambda remote: real.block_size_ratio(made, remote)
    made.is_kv_replicated = lambda *_: rtp > heads
    return made


def _nvfp4_layer() -> dict[str, Any]:
    mode = find(f"{build.INTERFACE}:KVQuantMode").NVFP4
    return {"layer": build.full(16, 2, 64, kv_quant_mode=mode)}


def _worker(lengths: list[int], layout: str, **given: Any) -> Stub:
    """The side that validates: ``lengths`` are bytes of one block, one for each KV region."""
    return Stub(
        tp_rank=0,
        region_group_ids=(),
        dst_region_group_ids={},
        region_members=[],
        kv_cache_layout=layout,
        host_buffer_kv_cache_layout=layout,
        enable_permute_local_kv=False,
        enable_heterogeneous_attn_post_process=False,
        backend_name="FLASH_ATTN",
        block_len_per_layer=list(lengths),
        block_strides_per_layer=list(lengths),
        dst_num_blocks={"r": 8},
        _is_hma_required=False,
        _is_region_replicated=lambda _: False,
        _transfer_layer_region_indices=(),
        _transfer_layer_names=(),
        _head_sharded_draft_regions=(),
        _head_sharded_draft_kv_heads=None,
        _TRANSFER_MODE="pull",
        _is_csa_linear=False,
        _has_packed_cache=False,
        _csa_linear=False,
        **given,
    )


def _peer(lengths: list[int], layout: str, block_size: int, physical_blocks: int) -> Stub:
    """What the other side tells about itself in the handshake."""
    return Stub(
        engine_id="r",
        block_size=block_size,
        physical_blocks_per_logical_kv_block=physical_blocks,
        kv_cache_layout=layout,
        attn_backend_name="FLASH_ATTN",
        block_lens=list(lengths),
        block_strides=list(lengths),
        num_blocks=8,
        kv_caches_base_addr=[0] * len(lengths),
        region_num_blocks=None,
        region_names=None,
        region_members=None,
        region_group_ids=None,
        region_mem_types=None,
        ssm_sizes=(0, 0),
    )


@guard(
    "nixl-dcp-divide",
    "nixl-layout-mismatch",
    "nixl-noncontiguous-heads",
    "nixl-hostbuf-blocks",
    "nixl-layer-count",
    "nixl-replicated-len",
    "nixl-split-len",
    "nixl-ptp-gt-dtp-blocks",
    "nixl-mamba-apc-phys",
    "nixl-nvfp4-reshard",
    "nixl-prefill-replicates-heads",
    "nixl-mamba-dcp",
)
def handshake(
    local_tp_size: int = 2,
    remote_tp_size: int = 2,
    local_block_size: int = 16,
    remote_block_size: int = 16,
    local_layout: str = "",
    remote_layout: str = "",
    is_mla: bool = False,
    has_mamba: bool = False,
    total_num_kv_heads: int = 8,
    local_layers: int = 1,
    remote_layers: int = 1,
    local_block_len: int = 0,
    remote_block_len: int = 0,
    host_buffer: bool = False,
    enable_permute_local_kv: bool = False,
    local_dcp_size: int = 1,
    remote_dcp_size: int = 1,
    local_physical_blocks: int = 1,
    remote_physical_blocks: int = 1,
    enable_prefix_caching: bool = True,
    nvfp4_kv_cache: bool = False,
) -> None:
    """Validation of the peer's metadata by a worker that holds one KV region a layer.

    Lengths are bytes of one block of one region; 0 stands for what a model with 64 bytes a token
    and head needs at these TP and block sizes.
    """
    local_layout, remote_layout = _layout(local_layout), _layout(remote_layout)
    validate = find(f"{WORKER}:NixlBaseConnectorWorker._validate_remote_agent_handshake")

    def length(tp: int, block: int) -> int:
        heads = 1 if is_mla else max(1, total_num_kv_heads // tp)
        return 64 * block * heads

    here = [local_block_len or length(local_tp_size, local_block_size)] * local_layers
    there = [remote_block_len or length(remote_tp_size, remote_block_size)] * remote_layers
    worker = _worker(
        here,
        local_layout,
        transfer_topo=_topology(
            local_tp_size,
            remote_tp_size,
            local_block_size,
            total_num_kv_heads,
            is_mla,
            remote_dcp_size,
        ),
        world_size=local_tp_size,
        block_size=local_block_size,
        dcp_size=local_dcp_size,
        _has_mamba=has_mamba,
        use_mla=is_mla,
        _physical_blocks_per_logical_kv_block=local_physical_blocks,
        vllm_config=Stub(
            cache_config=Stub(enable_prefix_caching=enable_prefix_caching),
            model_config=Stub(is_deepseek_mla=is_mla),
        ),
        use_host_buffer=host_buffer,
        kv_transfer_config=Stub(enable_permute_local_kv=enable_permute_local_kv),
        _layer_specs=_nvfp4_layer() if nvfp4_kv_cache else {},
    )
    peer = _peer(there, remote_layout, remote_block_size, remote_physical_blocks)
    values = {"remote_tp_size": remote_tp_size, "remote_dcp_size": remote_dcp_size}
    validate(worker, peer, **build.accepted_by(validate, values))


@guard("nixl-compat-hash")
def compatibility_hash(local_hash: str, remote_hash: str, enforce_handshake_compat: bool) -> None:
    """A handshake with a peer on loopback that sends a hash, then bytes that are no metadata."""
    msgspec, zmq = find("msgspec"), find("zmq")
    worker_class = find(f"{WORKER}:NixlBaseConnectorWorker")
    pack = find("msgspec.msgpack:encode")
    remote = find(f"{KV}.v1.nixl.metadata:NixlHandshakePayload")(
        compatibility_hash=remote_hash, agent_metadata_bytes=b"\xc1"
    )
    context = zmq.Context()
    socket = context.socket(zmq.REP)
    port = socket.bind_to_random_port("tcp://127.0.0.1")

    def serve() -> None:
        if socket.poll(10_000):
            socket.recv()
            socket.send_multipart([pack(remote), pack(0.0)])

    server = threading.Thread(target=serve)
    server.start()
    worker = Stub(
        _is_csa_linear=False,
        use_host_buffer=True,
        transfer_topo=Stub(handshake_target_ranks=lambda *_: [0]),
        compat_hash=local_hash,
        enforce_compat_hash=enforce_handshake_compat,
    )
    try:
        worker_class._nixl_handshake(worker, "127.0.0.1", port, 1, "e")
    except (msgspec.DecodeError, msgspec.ValidationError):
        return
    except RuntimeError as error:
        if isinstance(error.__cause__, (msgspec.DecodeError, msgspec.ValidationError)):
            return
        raise
    finally:
        server.join()
        socket.close(0)
        context.term()
