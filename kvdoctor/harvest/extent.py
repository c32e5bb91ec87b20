"""Which files of the library are kept: whose sites, and whose lines tell the release."""

from __future__ import annotations

# Everything that plans, holds, moves or schedules KV cache, starts the processes that do, or
# checks the configuration of it. A path that ends in "/" is a folder.
SITES = (
    "vllm/config/",
    "vllm/distributed/",
    "vllm/engine/",
    "vllm/envs.py",
    "vllm/exceptions.py",
    "vllm/connections.py",
    "vllm/executor/",
    "vllm/platforms/",
    "vllm/ray/",
    "vllm/v1/",
    "vllm/worker/",
    "vllm/utils/",
    "vllm/utils.py",
    "vllm/attention/",
    "vllm/device_allocator/",
    "vllm/entrypoints/",
    "vllm/model_executor/layers/attention/",
    "vllm/model_executor/layers/attention_layer_base.py",
    "vllm/model_executor/layers/mamba/",
    "vllm/model_executor/layers/quantization/kv_cache.py",
    "vllm/model_executor/models/config.py",
)
# Parts of the folders above that never touch KV cache, connectors or processes.
NOT_SITES = (
    "vllm/entrypoints/speech_to_text/",
    "vllm/v1/structured_output/",
    "vllm/v1/watermarking/",
    "vllm/config/speech_to_text.py",
    "vllm/config/watermarking.py",
)
# Files whose frames and log lines stand in ordinary logs and tracebacks of a server besides those.
FRAMES = (
    *SITES,
    "vllm/compilation/",
    "vllm/logger.py",
    "vllm/logging_utils/",
    "vllm/tracing/",
    "vllm/tracing.py",
    "vllm/plugins/",
    "vllm/usage/",
    "vllm/forward_context.py",
    "vllm/sampling_params.py",
    "vllm/model_executor/model_loader/",
    "vllm/model_executor/models/registry.py",
    "vllm/model_executor/layers/fused_moe/",
    "vllm/model_executor/layers/rotary_embedding/",
    "vllm/transformers_utils/",
    "vllm/renderers/",
    "vllm/tokenizers/",
)


def in_sites(path: str) -> bool:
    return _within(path, SITES) and not _within(path, NOT_SITES)


def in_frames(path: str) -> bool:
    return _within(path, FRAMES)


def _within(path: str, parts: tuple[str, ...]) -> bool:
    return any(path.startswith(part) if part.endswith("/") else path == part for part in parts)
