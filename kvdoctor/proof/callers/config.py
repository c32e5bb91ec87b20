"""Checks of the configuration objects, before any KV memory exists."""

from __future__ import annotations

from typing import Any

from . import build
from .build import Stub, environment, find, patched
from .models import engine_config, model, shared_engine_config
from .registry import guard

CONFIG = "vllm.config.vllm:VllmConfig"
MOONCAKE_SWITCHES = ("MC_FORCE_MNNVL", "MC_INTRANODE_NVLINK", "MC_USE_TENT", "MC_USE_TEV1")
CHUNKED_SWITCH = "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"


# ------------------------------------------------------------------ kv-transfer-config


@guard("kvcfg-role-missing", "kvcfg-role-invalid")
def kv_role(kv_connector: str, kv_role: str) -> None:
    find("vllm.config:KVTransferConfig")(kv_connector=kv_connector or None, kv_role=kv_role or None)


@guard("hisparse-host-pool-missing", "hisparse-host-pool-nonpositive")
def hisparse_pool(kv_connector: str, given: bool, host_pool_gib: float) -> None:
    """``given``: the key host_pool_gib stands in the connector's extra config (GiB)."""
    extra: dict[str, Any] = {"host_pool_gib": host_pool_gib} if given else {}
    find("vllm.config.kv_transfer:hisparse_host_pool_gib")(build.transfer(kv_connector, **extra))


@guard("kv-expandable-segments", "kv-sleep-mode-unsupported")
def allocator(
    kv_connector: str,
    alloc_conf: str,
    enable_cumem_allocator: bool,
    enable_sleep_mode: bool,
    nixl_backend: str = "UCX",
    mooncake_protocol: str = "rdma",
) -> None:
    """``alloc_conf``: the environment variable PYTORCH_CUDA_ALLOC_CONF, "" = not set."""
    extra: dict[str, Any] = {}
    if kv_connector.startswith("Nixl"):
        extra["backends"] = [nixl_backend]
    elif kv_connector == "MooncakeConnector":
        extra["mooncake_protocol"] = mooncake_protocol
    model_config = Stub(
        enable_cumem_allocator=enable_cumem_allocator, enable_sleep_mode=enable_sleep_mode
    )
    transfer = build.transfer(kv_connector, **extra) if kv_connector else None
    config = Stub(kv_transfer_config=transfer, model_config=model_config)
    elsewhere = dict.fromkeys(MOONCAKE_SWITCHES)  # None: not set
    with environment(PYTORCH_CUDA_ALLOC_CONF=alloc_conf or None, **elsewhere):
        find(f"{CONFIG}._verify_kv_transfer_compat")(config)


# ------------------------------------------------------------------ hybrid KV cache manager


@guard("hma-explicit-unsupported")
def hybrid_manager_flag(
    hybrid_kv_cache_manager: str,
    attention_chunk_size: int,
    eagle: bool,
    allow_chunked_local_attention: bool,
    platform_supports_hybrid_kv_cache: bool = True,
    kv_events: bool = False,
) -> None:
    """``hybrid_kv_cache_manager``: "" (flag not given), "on" or "off"; chunk size 0 = none."""
    chosen = {"": None, "on": False, "off": True}[hybrid_kv_cache_manager]
    name = "chunked" if attention_chunk_size else "llama"
    arguments: dict[str, Any] = (
        {} if chosen is None else {"disable_hybrid_kv_cache_manager": chosen}
    )
    if eagle:
        draft = model(f"{name}-draft")
        arguments["speculative_config"] = {
            "method": "eagle",
            "model": draft,
            "num_speculative_tokens": 1,
        }
    if kv_events:
        arguments["kv_events_config"] = find("vllm.config:KVEventsConfig")(
            enable_kv_cache_events=True, publisher="null"
        )
    platform = type(find("vllm.platforms:current_platform"))
    answer = classmethod(lambda cls: platform_supports_hybrid_kv_cache)
    with (
        environment(**{CHUNKED_SWITCH: "1" if allow_chunked_local_attention else "0"}),
        patched(platform, support_hybrid_kv_cache=answer),
    ):
        engine_config(name, **arguments)


# ------------------------------------------------------------------ block size, caches


@guard("cp-interleave-block", "mamba-align-mm-chunk")
def block_size(
    block_size: int,
    cp_kv_cache_interleave_size: int = 1,
    decode_context_parallel_size: int = 1,
    nixl: bool = False,
    mamba_cache_mode: str = "none",
    disable_chunked_mm_input: bool = False,
) -> None:
    """``nixl``: a NixlConnector is configured."""
    config = Stub(
        cache_config=Stub(
            block_size=block_size,
            mamba_cache_mode=mamba_cache_mode,
            enable_prefix_caching=mamba_cache_mode == "align",
            mamba_block_size=block_size,
        ),
        parallel_config=Stub(
            decode_context_parallel_size=decode_context_parallel_size,
            cp_kv_cache_interleave_size=cp_kv_cache_interleave_size,
            dcp_kv_cache_interleave_size=1,
            prefill_context_parallel_size=1,
        ),
        kv_transfer_config=build.transfer() if nixl else None,
        scheduler_config=Stub(
            disable_chunked_mm_input=disable_chunked_mm_input,
            long_prefill_token_threshold=0,
            max_num_batched_tokens=8192,
        ),
        model_config=Stub(is_hybrid=True, has_inner_state=True),
    )
    find(f"{CONFIG}.validate_block_size")(config)


@guard("nvfp4-kv-mla")
def nvfp4_with_mla(cache_dtype: str, use_mla: bool) -> None:
    find(f"{CONFIG}.validate_nvfp4_kv_cache_with_mla")(
        Stub(model_config=Stub(use_mla=use_mla), cache_config=Stub(cache_dtype=cache_dtype))
    )


@guard("mamba-block-size-needs-apc")
def mamba_block_size(
    mamba_block_size: int, max_model_len: int, enable_prefix_caching: bool
) -> None:
    """``mamba_block_size`` 0 = the option is not given."""
    find(f"{CONFIG}.validate_mamba_block_size")(
        Stub(
            model_config=Stub(max_model_len=max_model_len),
            cache_config=Stub(
                mamba_block_size=mamba_block_size or None,
                enable_prefix_caching=enable_prefix_caching,
            ),
        )
    )


@guard("replayssm-kv-connector")
def replayssm(use_replayssm: bool, kv_connector: str) -> None:
    """Everything else is as ReplaySSM wants it; "" = no connector."""
    backend = find("vllm.config.vllm:MambaBackendEnum").TRITON
    config = Stub(
        cache_config=Stub(
            use_replayssm=use_replayssm,
            replayssm_buffer_len=8,
            mamba_cache_mode="none",
            use_kda_recoverssm=False,
            enable_prefix_caching=False,
        ),
        model_config=Stub(architecture="NemotronHForCausalLM", supports_replayssm=True),
        num_speculative_tokens=0,
        mamba_config=Stub(backend=backend, enable_stochastic_rounding=False),
        parallel_config=Stub(pipeline_parallel_size=1),
        use_v2_model_runner=False,
        kv_transfer_config=build.transfer(kv_connector) if kv_connector else None,
        speculative_config=None,
    )
    find(f"{CONFIG}.validate_mamba_cached_kernel")(config)


@guard("kv-layout-unknown")
def layout_name(layout_name: str) -> None:
    find("vllm.config.cache:_layout_from_name")(layout_name)


# ------------------------------------------------------------------ parallel sizes


def _parallel(tp: int, pcp: int, dcp: int) -> Any:
    return find("vllm.config:ParallelConfig")(
        tensor_parallel_size=tp,
        prefill_context_parallel_size=pcp,
        decode_context_parallel_size=dcp,
        distributed_executor_backend="mp",
    )


@guard("dcp-tp-divisible", "pcp-dcp-shape")
def parallel_sizes(tp: int, pcp: int, dcp: int) -> None:
    _parallel(tp, pcp, dcp)


@guard("nixl-dcp-size", "nixl-dcp-mla-only")
def nixl_parallel_sizes(
    tp: int, pcp: int, dcp: int, use_mla: bool, kv_connector: str, has_mamba: bool = False
) -> None:
    """A whole engine config from an existing model config; "" = no connector."""
    base = shared_engine_config("many-heads-mla" if use_mla else "many-heads")
    parallel = _parallel(tp, pcp, dcp)
    transfer = build.transfer(kv_connector) if kv_connector else None
    config_class = find("vllm.config:VllmConfig")
    with patched(type(base.model_config), is_hybrid=property(lambda self: has_mamba)):
        config_class(
            model_config=base.model_config, parallel_config=parallel, kv_transfer_config=transfer
        )
