"""KV planning: memory, page sizes, layouts, block hashing, hybrid coordination."""

from __future__ import annotations

import inspect
from typing import Any

from . import build
from .build import Stub, find
from .models import shared_engine_config
from .registry import guard

UTILS = "vllm.v1.core.kv_cache_utils"
PLANNING = "vllm.v1.core.kv_cache_planning"  # from 0.33.0 on
COORDINATOR = "vllm.v1.core.kv_cache_coordinator"


def _planner(name: str) -> Any:
    return find(f"{PLANNING}:{name}", f"{UTILS}:{name}")


# ------------------------------------------------------------------ memory


@guard("kv-no-memory", "kv-max-len-too-big")
def enough_memory(
    available_memory: int,
    needed_memory: int,
    max_model_len: int,
    estimated_max_model_len: int = 0,
) -> None:
    """Bytes for the whole worker; the estimate is what vLLM works out itself, 0 = nothing fits."""
    _planner("_check_enough_kv_cache_memory")(
        available_memory,
        lambda: needed_memory,
        max_model_len,
        lambda _: estimated_max_model_len,
    )


@guard("kv-autofit-fail")
def auto_fit(available_memory: int, block_size: int, num_kv_heads: int, head_size: int) -> None:
    """One worker with one full-attention layer in float16; ``available_memory`` in bytes."""
    function = _planner("_auto_fit_max_model_len")
    config = shared_engine_config("llama")
    if getattr(config.cache_config, "kv_cache_layout", "") is None:
        config.cache_config.kv_cache_layout = "LBNHC"
    one_worker = [build.groups(build.full(block_size, num_kv_heads, head_size))]
    arguments = [config, one_worker, [available_memory]]
    if len(inspect.signature(function).parameters) == 4:
        arguments.insert(0, find(f"{PLANNING}:DefaultKVCacheConfigBuilder")())
    before = config.model_config.max_model_len
    try:
        function(*arguments)
    finally:
        config.model_config.max_model_len = before


# ------------------------------------------------------------------ block hashing


def _resolve(specs: list[Any], block_size: int, unit: int, dcp: int, apc: bool, kv: bool) -> None:
    config = Stub(
        cache_config=Stub(
            block_size=block_size, prefix_match_unit=unit or None, enable_prefix_caching=apc
        ),
        parallel_config=Stub(decode_context_parallel_size=dcp, prefill_context_parallel_size=1),
        kv_transfer_config=Stub() if kv else None,
    )
    groups = Stub(kv_cache_groups=build.groups(*specs))
    find(f"{UTILS}:resolve_kv_cache_block_sizes")(groups, config)


@guard("pmu-single-group")
def match_unit_of_one_group(
    prefix_match_unit: int,
    block_size: int,
    decode_context_parallel_size: int,
    enable_prefix_caching: bool,
    kv_connector: bool,
) -> None:
    """``prefix_match_unit`` 0 = not given; ``kv_connector``: any connector is configured."""
    specs = [build.full(block_size)]
    _resolve(
        specs,
        block_size,
        prefix_match_unit,
        decode_context_parallel_size,
        enable_prefix_caching,
        kv_connector,
    )


@guard("pmu-divides")
def match_unit_of_two_groups(
    prefix_match_unit: int,
    first_block_size: int,
    second_block_size: int,
    decode_context_parallel_size: int,
    enable_prefix_caching: bool,
    kv_connector: bool,
) -> None:
    """A full-attention and a sliding-window group."""
    specs = [build.full(first_block_size), build.sliding(second_block_size)]
    _resolve(
        specs,
        first_block_size,
        prefix_match_unit,
        decode_context_parallel_size,
        enable_prefix_caching,
        kv_connector,
    )


@guard("pmu-compression")
def match_unit_of_compressed_cache(
    prefix_match_unit: int, block_size: int, tokens_per_state: int
) -> None:
    """A compressed MLA group and a Mamba group in mode align, both with the same block size."""
    specs = [build.mla(block_size, 576, tokens_per_state), build.mamba(block_size, "align")]
    _resolve(specs, block_size, prefix_match_unit, 1, True, False)


# ------------------------------------------------------------------ specs of all layers together


@guard("unify-local-fail")
def one_type_for_all(
    full_layers: int, sliding_window_layers: int, chunked_local_layers: int, mamba_layers: int
) -> None:
    """The hybrid manager is off: all layers have to become one type."""
    specs: dict[str, Any] = {f"full.{i}": build.full() for i in range(full_layers)}
    specs.update({f"sliding.{i}": build.sliding() for i in range(sliding_window_layers)})
    specs.update({f"chunked.{i}": build.chunked() for i in range(chunked_local_layers)})
    specs.update({f"mamba.{i}": build.mamba(16) for i in range(mamba_layers)})
    _planner("unify_hybrid_kv_cache_specs")(specs)


@guard("page-size-unify")
def one_page_size(
    full_block_size: int, full_heads: int, full_head_size: int, mla_block_size: int, mla_width: int
) -> None:
    """A full-attention layer (K and V) and an MLA layer (one vector of ``mla_width``), float16."""
    specs = {
        "full": build.full(full_block_size, full_heads, full_head_size),
        "mla": build.mla(mla_block_size, mla_width),
    }
    _planner("unify_kv_cache_spec_page_size")(specs)


@guard("layout-mixed-pages")
def layout_with_two_groups(layout: str, first_heads: int, second_heads: int) -> None:
    """Two groups whose pages have as many bytes as their layers have KV heads."""
    validate = _planner("validate_kv_cache_layout")
    found = find("vllm.config.cache:_layout_from_name")(layout)
    validate(found, build.groups(build.full(16, first_heads), build.sliding(16, second_heads)))


@guard("dcp-sliding-window")
def sliding_window_memory(decode_context_parallel_size: int, sliding_window: int) -> None:
    config = Stub(
        parallel_config=Stub(decode_context_parallel_size=decode_context_parallel_size),
        max_in_flight_tokens=64,
        scheduler_config=Stub(max_num_batched_tokens=64),
        model_config=Stub(max_model_len=128),
    )
    build.sliding(16, window=sliding_window).max_memory_usage_bytes(config)


# ------------------------------------------------------------------ coordinator


@guard("retention-no-window", "retention-multiple")
def retention(
    given: bool,
    retention_interval: int,
    scheduler_block_size: int,
    sliding_window_group: bool,
    mamba_group: bool,
) -> None:
    """A full-attention group and what the two flags add."""
    specs = [build.full()]
    specs += [build.sliding()] if sliding_window_group else []
    specs += [build.mamba(16)] if mamba_group else []
    find(f"{COORDINATOR}:_validate_prefix_cache_retention_interval")(
        retention_interval if given else None, scheduler_block_size, build.cache_layout(*specs)
    )


def _coordinator(
    groups: list[Any],
    hash_block: int,
    scheduler_block: int,
    dcp: int = 1,
    pcp: int = 1,
    **more: Any,
) -> None:
    config = find(f"{build.INTERFACE}:KVCacheConfig")(
        num_blocks=64, kv_cache_tensors=[], kv_cache_groups=groups
    )
    function = find(f"{COORDINATOR}:get_kv_cache_coordinator")
    values = {
        "kv_cache_config": config,
        "max_model_len": 1024,
        "max_num_batched_tokens": 512,
        "max_in_flight_tokens": 512,
        "use_eagle": False,
        "enable_caching": True,
        "enable_kv_cache_events": False,
        "dcp_world_size": dcp,
        "pcp_world_size": pcp,
        "hash_block_size": hash_block,
        "scheduler_block_size": scheduler_block,
        "metrics_collector": None,
        "num_prefill_lookahead": 0,
        **more,
    }
    function(**build.accepted_by(function, values))


@guard("hybrid-hash-divides")
def hash_block(hash_block_size: int, full_block_size: int, sliding_block_size: int) -> None:
    groups = build.groups(build.full(full_block_size), build.sliding(sliding_block_size))
    scheduler_block = hash_block_size * full_block_size * sliding_block_size
    _coordinator(groups, hash_block_size, scheduler_block)


@guard("dcp-hybrid", "pcp-hybrid")
def hybrid_context_parallel(
    decode_context_parallel_size: int, prefill_context_parallel_size: int, second_group: str
) -> None:
    """``second_group`` beside full attention: full, sliding-window, mamba or chunked-local."""
    kinds: dict[str, Any] = {
        "full": lambda: build.full(32),
        "sliding-window": build.sliding,
        "mamba": lambda: build.mamba(16),
        "chunked-local": build.chunked,
    }
    groups = build.groups(build.full(), kinds[second_group]())
    dcp = decode_context_parallel_size
    _coordinator(groups, 16, 32 * dcp, dcp, prefill_context_parallel_size)


@guard("mtp-lookahead")
def lookahead(
    scheduler_block_size: int, num_prefill_lookahead: int, enable_caching: bool, draft_group: bool
) -> None:
    """``draft_group``: the only KV cache group is shared with an EAGLE-like draft model."""
    groups = build.groups(build.full(scheduler_block_size))
    for group in groups:
        group.is_eagle_group = draft_group
    _coordinator(
        groups,
        scheduler_block_size,
        scheduler_block_size,
        use_eagle=draft_group,
        enable_caching=enable_caching,
        num_prefill_lookahead=num_prefill_lookahead,
    )
