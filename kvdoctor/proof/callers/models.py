"""Tiny model folders (a config.json, no weights) from which a real engine config can be made."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from .build import find

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "torch_dtype": "float32",
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MLA: dict[str, Any] = {
    **LLAMA,
    "architectures": ["DeepseekV2ForCausalLM"],
    "model_type": "deepseek_v2",
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "first_k_dense_replace": 4,
    "topk_method": "greedy",
    "n_group": 1,
    "topk_group": 1,
    "routed_scaling_factor": 1.0,
    "norm_topk_prob": False,
    "scoring_func": "softmax",
    "moe_layer_freq": 1,
}
CHUNKED: dict[str, Any] = {
    **LLAMA,
    "architectures": ["Llama4ForCausalLM"],
    "model_type": "llama4_text",
    "intermediate_size_mlp": 128,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "attention_chunk_size": 512,
    "num_local_experts": 1,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 1,
    "no_rope_layer_interval": 4,
    "no_rope_layers": [1, 1, 1, 0],
    "rope_theta": 10000.0,
    "use_qk_norm": False,
    "attn_temperature_tuning": False,
}
CHUNKED_DRAFT: dict[str, Any] = {**CHUNKED, "architectures": ["EagleLlama4ForCausalLM"]}
LLAMA_DRAFT: dict[str, Any] = {
    **LLAMA,
    "architectures": ["EagleLlamaForCausalLM"],
    "num_hidden_layers": 1,
}
# Every TP size up to 8, 12 and 16 divides these.
MANY_HEADS = {"num_attention_heads": 1680, "hidden_size": 1680}
MODELS = {
    "llama": LLAMA,
    "many-heads": {**LLAMA, **MANY_HEADS, "num_key_value_heads": 1},
    "many-heads-mla": {**MLA, **MANY_HEADS, "num_key_value_heads": 1680},
    "chunked": CHUNKED,
    "chunked-draft": CHUNKED_DRAFT,
    "llama-draft": LLAMA_DRAFT,
}


@functools.cache
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="kvdoctor-models-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def model(name: str) -> str:
    """Path of a folder with the config.json of that tiny model."""
    path = folder() / name
    path.mkdir()
    (path / "config.json").write_text(json.dumps(MODELS[name]), encoding="utf-8")
    return str(path)


def engine_config(name: str, **arguments: Any) -> Any:
    """A real VllmConfig, made the way ``vllm serve`` makes it."""
    defaults = {
        "skip_tokenizer_init": True,
        "max_model_len": 1024,
        "enforce_eager": True,
        "load_format": "dummy",
    }
    engine_args = find("vllm.engine.arg_utils:EngineArgs")
    return engine_args(model=model(name), **{**defaults, **arguments}).create_engine_config()


@functools.cache
def shared_engine_config(name: str = "llama") -> Any:
    """The same, made once: only for callers that never change it."""
    return engine_config(name)
