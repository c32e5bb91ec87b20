"""Mooncake connector and MooncakeStore: TP ratio, registration, addresses, KV groups, options."""

from __future__ import annotations

import contextlib
from typing import Any

from . import build
from .build import KV, GoneError, MissingFieldError, PassedError, Stub, find, patched
from .registry import guard

CONNECTOR = f"{KV}.v1.mooncake.mooncake_connector"
STORE = f"{KV}.v1.mooncake.store"


def _passed(*_: Any, **__: Any) -> Any:
    raise PassedError


@guard("mooncake-tp-ratio", "mooncake-tp-ratio-remote")
def tp_ratio(local_tp_size: int, remote_tp_size: int) -> None:
    find(f"{CONNECTOR}:_get_tp_ratio")(local_tp_size, remote_tp_size)


@guard("mooncake-no-kv-tensors")
def register(kv_layers: int, transferred_layers: int, kv_role: str = "kv_producer") -> None:
    """A worker with ``kv_layers`` KV layers, ``transferred_layers`` of them in transfer groups."""
    torch = find("torch")
    worker_class = find(f"{CONNECTOR}:MooncakeConnectorWorker")
    spec = build.full(16, 2, 8)
    names = [f"model.layers.{i}.self_attn.attn" for i in range(kv_layers)]
    moved = names[:transferred_layers]
    group = find(f"{build.INTERFACE}:KVCacheGroupSpec")
    if hasattr(spec, "num_states"):
        shape = (4, spec.num_heads, spec.num_states, spec.state_content_size_bytes // 2)
    else:
        shape = (4, 16, 2, 16)
    bare = object.__new__(worker_class)
    bare.use_mla, bare.is_kv_consumer = False, kv_role == "kv_consumer"
    bare._layer_specs = dict.fromkeys(moved, spec)
    bare._layer_group_indices = dict.fromkeys(moved, 0)
    bare.kv_cache_config = find(f"{build.INTERFACE}:KVCacheConfig")(
        num_blocks=4,
        kv_cache_tensors=[],
        kv_cache_groups=[group(moved, spec)] if moved else [],
    )
    bare._prepared_transfer_regions, bare._layout_by_peer = {}, {}
    bare._acked_layout_peers = set()
    bare._physical_blocks_per_logical_kv_block = 1
    bare._log_debug_cache_registration = lambda *_: None
    bare.engine = Stub(batch_register_memory=_passed)
    bare.transfer_topo = Stub(
        virtually_split_kv_in_blocks=False,
        is_kv_layout_blocks_first=True,
        split_k_and_v=False,
        get_transfer_cache_regions=lambda cache, _spec: [cache],
    )
    with patched(worker_class, __del__=lambda self: None):
        try:
            worker_class.register_kv_caches(
                bare, {name: torch.zeros(shape, dtype=torch.float16) for name in names}
            )
        except PassedError:
            return
        finally:
            del bare


@guard("mooncake-bootstrap-addr")
def bootstrap_address(bootstrap_server_address: str) -> None:
    parallel = Stub(
        local_engines_only=True, nnodes_within_dp=1, master_addr="", data_parallel_master_ip=""
    )
    config = Stub(
        kv_transfer_config=build.transfer(
            "MooncakeConnector", bootstrap_server_address=bootstrap_server_address
        ),
        parallel_config=parallel,
    )
    find(f"{CONNECTOR}:get_mooncake_bootstrap_addr")(config)


@guard("mooncake-preferred-segment")
def preferred_segment(given: bool, preferred_segment: str) -> None:
    find(f"{KV}.v1.mooncake.rdma_utils:get_configured_preferred_segment")(
        {"preferred_segment": preferred_segment} if given else {}
    )


# ------------------------------------------------------------------ MooncakeStore


@guard("store-unsupported", "store-no-group")
def store_groups(
    full_groups: int = 1,
    sliding_window_groups: int = 0,
    cross_attention_groups: int = 0,
    mamba_groups: int = 0,
    mamba_cache_mode: str = "align",
    mamba_block_size: int = 16,
    block_size: int = 16,
    prefill_context_parallel_size: int = 1,
    decode_context_parallel_size: int = 1,
    kv_role: str = "kv_both",
    enable_lookup: bool = True,
    save_decode_cache: bool = False,
) -> None:
    """The connector's constructor up to the creation of the scheduler half."""
    module = find(f"{STORE}.connector")
    specs = [build.full(block_size)] * full_groups
    specs += [build.sliding(block_size)] * sliding_window_groups
    specs += [build.cross(block_size)] * cross_attention_groups
    specs += [build.mamba(mamba_block_size, mamba_cache_mode)] * mamba_groups
    config = Stub(
        kv_transfer_config=build.transfer(
            "MooncakeStoreConnector",
            kv_role,
            enable_lookup=enable_lookup,
            save_decode_cache=save_decode_cache,
        ),
        cache_config=Stub(block_size=block_size),
        parallel_config=Stub(
            prefill_context_parallel_size=prefill_context_parallel_size,
            decode_context_parallel_size=decode_context_parallel_size,
        ),
    )
    with patched(module, MooncakeStoreScheduler=_passed):
        try:
            module.MooncakeStoreConnector(
                config, build.scheduler_role(), build.cache_layout(*specs)
            )
        except PassedError:
            return


@guard("store-mem-pool-type", "store-mem-pool-sleep")
def store_memory_pool(
    custom_mem_pool: str, enable_sleep_mode: bool, enable_cumem_allocator: bool
) -> None:
    make = find(f"{STORE}.worker:MooncakeStoreWorker._create_mem_pool")
    make(
        {"custom_mem_pool": custom_mem_pool} if custom_mem_pool else {},
        Stub(enable_sleep_mode=enable_sleep_mode, enable_cumem_allocator=enable_cumem_allocator),
    )


@guard("store-load-async")
def store_load(load_async: bool, kv_role: str, enable_lookup: bool) -> None:
    """The step in which loads are issued; a capacity-only instance never gets to the check."""
    worker_class = find(f"{STORE}.worker:MooncakeStoreWorker")
    worker = Stub(
        _capacity_only=kv_role == "kv_consumer" and not enable_lookup,
        load_async=load_async,
        kv_role=kv_role,
        kv_recv_threads=[],
        tp_rank=0,
        _close_ended_store_requests=lambda *_: None,
    )
    if "load_async" in worker_class.start_load_kv.__code__.co_names:
        worker_class.start_load_kv(worker, Stub(requests=[]))
    else:  # older releases issue loads where they collect what has finished
        worker_class.get_finished(worker, set(), Stub(requests=[]))


@guard("store-partial-tail")
def partial_tail(one_boundary: bool, kv_role: str, partial_hash_hits: bool) -> None:
    """Two cache groups offload the tail of one request. ``partial_hash_hits`` says whether the
    worker's coordinator stores partial blocks at all; the scheduler of later releases does not
    ask."""
    tails = [(0, 1, 32), (1, 2, 32 if one_boundary else 48)]
    try:
        at_finish = find(f"{STORE}.scheduler:MooncakeStoreScheduler.register_finished_partial_tail")
    except GoneError:
        in_worker = find(f"{STORE}.worker:KVCacheStoreSendingThread._maybe_offload_partial_tail")
        coordinator = Stub(enable_partial_hash_hits=partial_hash_hits, hash_block_size=16)
        request = Stub(block_hashes=[b"h"], partial_tail_offloads=tails)
        # With one hash the code behind the guard finds nothing to store and returns.
        in_worker(Stub(coord=coordinator), request)
        return
    scheduler = Stub(kv_role=kv_role, _request_trackers={"r": Stub(prefill_end_tokens=64)})
    with contextlib.suppress(MissingFieldError):  # behind the guard it queues the tail
        at_finish(scheduler, Stub(request_id="r"), ([1], [2]), tails)
