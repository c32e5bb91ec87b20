"""Sizes that the model, the attention backends and the parallel layout must agree on."""

from __future__ import annotations

from typing import Any

from . import build
from .build import PassedError, Stub, find, patched
from .registry import guard


def _verify(heads: int, kv_heads: int, tp: int, dcp: int) -> None:
    """The model's own check of the parallel sizes, for a model without experts and without MLA."""
    model = Stub(
        model_arch_config=Stub(total_num_attention_heads=heads),
        use_mla=False,
        get_total_num_kv_heads=lambda: kv_heads,
        multimodal_config=None,
        hf_text_config=Stub(num_attention_heads=heads),
        architectures=["LlamaForCausalLM"],
    )
    parallel = Stub(
        tensor_parallel_size=tp,
        pipeline_parallel_size=1,
        decode_context_parallel_size=dcp,
        enable_expert_parallel=False,
        enable_hc_sp=False,
        distributed_executor_backend="mp",
        world_size_across_dp=tp,
    )
    find("vllm.config:ModelConfig.verify_with_parallel_config")(model, parallel)


@guard("attention-heads-not-divisible")
def attention_heads(total_num_attention_heads: int, tensor_parallel_size: int) -> None:
    heads = total_num_attention_heads
    _verify(heads, heads, tensor_parallel_size, 1)


def _passed(*_: object, **__: object) -> None:
    raise PassedError


@guard("kv-heads-not-divisible")
def heads_of_a_rank(
    total_num_attention_heads: int, total_num_kv_heads: int, tensor_parallel_size: int
) -> None:
    """The layer with which vLLM's models split query, key and value heads over the ranks."""
    layer = find("vllm.model_executor.layers.linear:QKVParallelLinear")
    with (
        patched(
            find("vllm.model_executor.layers.linear"),
            get_tensor_model_parallel_world_size=lambda: tensor_parallel_size,
        ),
        patched(layer.__base__, __init__=_passed),
    ):
        try:
            layer(1, 1, total_num_attention_heads, total_num_kv_heads)
        except PassedError:
            return


@guard("dcp-needs-more-tp-than-kv-heads")
def grouped_heads(tp: int, dcp: int, total_num_kv_heads: int, num_q_per_kv: int) -> None:
    _verify(total_num_kv_heads * num_q_per_kv, total_num_kv_heads, tp, dcp)


@guard("block-size-not-supported")
def kernel_block_size(block_size: int, base: int) -> None:
    """One attention backend whose kernels take every multiple of ``base`` tokens."""
    multiple = find("vllm.v1.attention.backend:MultipleOf")
    backend = Stub(
        get_supported_kernel_block_sizes=lambda *_: [multiple(base)],
        get_name=lambda: "BACKEND",
    )
    find("vllm.v1.worker.utils:select_common_block_size")(block_size, [backend])


@guard("kv-load-failure-policy-invalid")
def load_failure_policy(kv_load_failure_policy: str) -> None:
    find("vllm.config:KVTransferConfig")(
        kv_connector="NixlConnector",
        kv_role="kv_both",
        kv_load_failure_policy=kv_load_failure_policy,
    )


@guard("multi-no-connectors")
def children_given(connectors_given: bool) -> None:
    extra: dict[str, Any] = {
        "connectors": [{"kv_connector": "ExampleConnector", "kv_role": "kv_both"}]
    }
    config = Stub(
        kv_transfer_config=build.transfer("MultiConnector", **(extra if connectors_given else {}))
    )
    multi = find(f"{build.KV}.v1.multi_connector:MultiConnector")
    multi._get_connector_classes_and_configs(config)


@guard("umbp-key-namespace")
def key_namespace(given: bool, key_namespace: str) -> None:
    extra: dict[str, Any] = {"key_namespace": key_namespace} if given else {}
    find(f"{build.KV}.v1.umbp.data:UMBPNamespace").configured(
        Stub(kv_transfer_config=Stub(kv_connector_extra_config=extra))
    )
