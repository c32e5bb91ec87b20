"""KV offloading: chunk sizes, CPU and tiered storage, the simple CPU connector."""

from __future__ import annotations

import copy
import functools
from typing import Any

from . import build
from .build import KV, PassedError, Stub, find, patched
from .models import engine_config
from .registry import guard

CONFIG = f"{KV}.v1.offloading.config"
SPECS = "vllm.v1.kv_offload.factory:OffloadingSpecFactory"
TIERS = "vllm.v1.kv_offload.tiering"
BYTES = 1 << 24


@functools.cache
def _base() -> Any:
    transfer = build.transfer("OffloadingConnector", cpu_bytes_to_use=1 << 30)
    return engine_config("llama", kv_transfer_config=transfer)


def _engine(
    connector: str, block_size: int, extra: dict[str, Any], retention: int | None = None
) -> Any:
    """A copy of a real engine config with its own connector and cache settings."""
    config = copy.copy(_base())
    cache = copy.copy(config.cache_config)
    cache.block_size, cache.prefix_match_unit = block_size, None
    cache.enable_prefix_caching = True
    cache.prefix_cache_retention_interval = retention
    config.__dict__["cache_config"] = cache
    config.__dict__["kv_transfer_config"] = build.transfer(connector, **extra)
    return config


def _offloading(
    specs: list[Any], block_size: int, extra: dict[str, Any], retention: int | None = None
) -> tuple[Any, Any]:
    config = _engine("OffloadingConnector", block_size, extra, retention)
    made = find(f"{CONFIG}:build_offloading_config")(config, build.cache_layout(*specs))
    return made, config


# ------------------------------------------------------------------ chunks


@guard("offload-no-groups")
def eligible_groups(full_groups: int) -> None:
    _offloading([build.full()] * full_groups, 16, {})


@guard("offload-hash-divides")
def hash_of_hybrid(block_size: int, mamba_block_size: int, mamba_cache_mode: str) -> None:
    """Full attention with ``block_size`` and Mamba with ``mamba_block_size`` tokens a block."""
    specs = [build.full(block_size), build.mamba(mamba_block_size, mamba_cache_mode)]
    _offloading(specs, block_size, {})


@guard("offload-block-and-chunk", "offload-chunk-positive")
def chunk_keys(
    block_size_given: bool, block_size: int, blocks_per_chunk_given: bool, blocks_per_chunk: int
) -> None:
    """The two keys of kv_connector_extra_config; the GPU block has 16 tokens."""
    extra: dict[str, Any] = {}
    if block_size_given:
        extra["block_size"] = block_size
    if blocks_per_chunk_given:
        extra["blocks_per_chunk"] = blocks_per_chunk
    _offloading([build.full()], 16, extra)


@guard("offload-block-size-multiple", "offload-block-size-uniform")
def chunk_block_size(
    block_size: int, tokens_per_block: int, second_tokens_per_block: int = 0
) -> None:
    """``block_size`` of kv_connector_extra_config against the GPU blocks of one or two groups."""
    specs = [build.full(tokens_per_block)]
    if second_tokens_per_block:
        specs.append(build.sliding(second_tokens_per_block))
    _offloading(specs, tokens_per_block, {"block_size": block_size})


@guard("offload-retention-negative", "offload-retention-multiple")
def retention(retention_interval: int, tokens_per_block: int, blocks_per_chunk: int) -> None:
    """The scheduler's half of the connector, with a full-attention and a sliding-window group."""
    specs = [build.full(tokens_per_block), build.sliding(tokens_per_block)]
    extra = {"cpu_bytes_to_use": BYTES, "blocks_per_chunk": blocks_per_chunk}
    settings = find(f"{KV}.v1.offloading.scheduler:SchedulerOffloadConfig")
    made, config = _offloading(specs, tokens_per_block, extra, retention_interval)
    settings.from_spec(find(SPECS).create_spec(made), config, build.cache_layout(*specs))


# ------------------------------------------------------------------ CPU


def _cpu_spec(**extra: Any) -> Any:
    made, _ = _offloading([build.full()], 16, extra)
    return find(SPECS).create_spec(made)


@guard("offload-cpu-bytes")
def cpu_bytes(given: bool, cpu_bytes_to_use: int) -> None:
    _cpu_spec(**({"cpu_bytes_to_use": cpu_bytes_to_use} if given else {}))


@guard("offload-spec-unknown")
def spec_name(spec_name: str) -> None:
    """``spec_name`` "" = not given."""
    extra: dict[str, Any] = {"spec_name": spec_name} if spec_name else {}
    _cpu_spec(cpu_bytes_to_use=BYTES, secondary_tiers=[], **extra)


@guard("offload-policy-unknown")
def eviction_policy(eviction_policy: str) -> None:
    find("vllm.v1.kv_offload.cpu.policies.factory:CachePolicyFactory").get_cache_policy_cls(
        eviction_policy
    )


@guard("offload-gpu-only")
def platform(is_cuda_alike: bool, is_xpu: bool) -> None:
    module = find("vllm.v1.kv_offload.cpu.spec")
    spec = _cpu_spec(cpu_bytes_to_use=BYTES)
    spec.create_worker = lambda *_: object()
    stand_in = Stub(
        is_cuda_alike=lambda: is_cuda_alike, is_xpu=lambda: is_xpu, is_rocm=lambda: False
    )
    with patched(module, current_platform=stand_in):
        spec.get_worker(None)


# ------------------------------------------------------------------ tiers


@guard("tier-type-missing", "tier-type-unknown")
def tier_type(type_given: bool, tier_type: str) -> None:
    find(f"{TIERS}.factory:SecondaryTierFactory").get_tier_class(
        {"type": tier_type} if type_given else {}
    )


@guard("tier-backpressure-cls")
def backpressure(backpressure_given: bool, backpressure_cls: str) -> None:
    """``backpressure_cls`` "" = the key is not there."""
    factory = find(f"{TIERS}.factory:SecondaryTierFactory")
    find(f"{TIERS}.backpressure")

    class Tier:
        def __init__(self, **_: Any) -> None:
            return None

    tier: dict[str, Any] = {"type": "fs"}
    if backpressure_given:
        tier["backpressure"] = {"backpressure_cls": backpressure_cls} if backpressure_cls else {}
    with patched(factory, get_tier_class=classmethod(lambda cls, _: Tier)):
        factory.create_secondary_tier(tier, memoryview(b""), Stub())


def _tiering(tiers: Any, **extra: Any) -> Any:
    find(f"{TIERS}.spec:TieringOffloadingSpec")
    return _cpu_spec(
        spec_name="TieringOffloadingSpec", cpu_bytes_to_use=BYTES, secondary_tiers=tiers, **extra
    )


@guard("tier-list")
def tier_list(secondary_tiers: str) -> None:
    """Kind of JSON value under secondary_tiers: list, mapping, text or number."""
    values: dict[str, Any] = {"list": [], "mapping": {"type": "fs"}, "text": "fs", "number": 1}
    spec = _tiering(values[secondary_tiers])
    read = getattr(spec, "_get_secondary_tiers", None)
    if read is not None:
        read(spec.extra_config) if hasattr(spec, "extra_config") else read()


def _passed(*_: Any, **__: Any) -> Any:
    raise PassedError


@guard("tier-store-threshold")
def tier_threshold(store_threshold: int) -> None:
    module = find(f"{TIERS}.spec")
    spec = _tiering([], store_threshold=store_threshold)
    with patched(module, SharedOffloadRegion=_passed):
        try:
            spec.get_manager()
        except PassedError:
            return


@guard("tier-ema-alpha", "tier-ema-water")
def moving_average(high_water_s: float, low_water_s: float, alpha: float) -> None:
    find(f"{TIERS}.backpressure:EMABackpressureDetector")(
        high_water_s=high_water_s, low_water_s=low_water_s, alpha=alpha
    )


# ------------------------------------------------------------------ SimpleCPUOffloadConnector


@guard(
    "simple-backend-unknown",
    "simple-disk-path",
    "simple-disk-capacity",
    "simple-num-blocks-positive",
)
def simple_connector(
    kv_offload_backend: str = "cpu",
    disk_path: str = "",
    disk_capacity_given: bool = True,
    disk_capacity_bytes: int = BYTES,
    num_cpu_blocks_given: bool = False,
    num_cpu_blocks: int = 1,
) -> None:
    """The worker half of the connector; texts "" = not given."""
    connector = find(
        f"{KV}.v1.simple_cpu_offload_connector:SimpleCPUOffloadConnector",
    )
    extra: dict[str, Any] = {"cpu_bytes_to_use": BYTES}
    if kv_offload_backend:
        extra["kv_offload_backend"] = kv_offload_backend
    if disk_path:
        extra["disk_path"] = disk_path
    if disk_capacity_given:
        extra["disk_capacity_bytes"] = disk_capacity_bytes
    if num_cpu_blocks_given:
        extra["num_cpu_blocks"] = num_cpu_blocks
    config = _engine("SimpleCPUOffloadConnector", 16, extra)
    connector(config, build.worker_role(), build.cache_layout(build.full()))
