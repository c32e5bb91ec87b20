"""Pasted YAML of orchestrators, and models' config.json."""

from __future__ import annotations

import json
import time

import pytest

from kvdoctor.intake import read
from kvdoctor.values import (
    builtin_table,
    find_launches,
    read_hf_config,
    read_values,
    read_yaml,
    side_of,
)  # fmt: skip
from kvdoctor.values.value import Scalar

TABLE = builtin_table()


def stated(text: str) -> dict[str, Scalar]:
    """ "side.name" → value of everything that is written in the text."""
    result: dict[str, Scalar] = {}
    for entry in read_values(read(text), table=TABLE).entries:
        if entry.certainty != "usual" and entry.name != "side":
            result.setdefault(f"{entry.side}.{entry.name}", entry.value)
    return result


DEPLOYMENTS = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm
  labels: {llm-d.ai/role: prefill}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.12.0
        command: ["vllm", "serve"]
        args:
        - meta/llama
        - --tensor-parallel-size
        - "4"
        - "--kv-transfer-config"
        - '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
        env:
        - name: VLLM_NIXL_SIDE_CHANNEL_PORT
          value: "5600"
        - name: HF_TOKEN
          valueFrom: {secretKeyRef: {name: x}}
      - name: proxy
        image: routing-proxy
        args: ["--port=8000", "--connector=nixlv2"]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm-decode
spec:
  template:
    spec:
      containers:
      - command: ["/bin/sh", "-c"]
        args:
        - |
          export VLLM_LOGGING_LEVEL=DEBUG
          vllm serve meta/llama \\
            --tensor-parallel-size 2 \\
            --block-size 64
"""


def test_deployments_are_read_from_lists_scripts_and_variables() -> None:
    assert stated(DEPLOYMENTS) == {
        "prefill.model": "meta/llama",
        "prefill.tensor_parallel_size": 4,
        "prefill.kv_connector": "NixlConnector",
        "prefill.kv_role": "kv_both",
        "prefill.VLLM_NIXL_SIDE_CHANNEL_PORT": 5600,
        "decode.model": "meta/llama",
        "decode.tensor_parallel_size": 2,
        "decode.block_size": 64,
        "decode.VLLM_LOGGING_LEVEL": "DEBUG",
    }


def test_every_value_of_a_manifest_knows_its_line() -> None:
    values = read_values(read("\n" + DEPLOYMENTS), table=TABLE)
    lines = ("\n" + DEPLOYMENTS).split("\n")
    for side, name, text in (
        ("prefill", "tensor_parallel_size", '- "4"'),
        ("prefill", "kv_role", "kv_both"),
        ("prefill", "VLLM_NIXL_SIDE_CHANNEL_PORT", 'value: "5600"'),
        ("decode", "block_size", "--block-size 64"),
        ("decode", "VLLM_LOGGING_LEVEL", "VLLM_LOGGING_LEVEL"),
    ):
        entry = values.find(name, side)
        assert entry is not None
        assert text in lines[entry.number - 1]


def test_the_commands_of_a_manifest_can_be_changed() -> None:
    launches = find_launches(read(DEPLOYMENTS), table=TABLE)
    assert [(one.side, one.command.style) for one in launches] == [
        ("prefill", "list"), ("decode", "shell"),
    ]  # fmt: skip
    assert "VLLM_NIXL_SIDE_CHANNEL_PORT" in launches[0].command.text


def test_a_cut_manifest_gives_what_its_beginning_says() -> None:
    cut = DEPLOYMENTS[: DEPLOYMENTS.index("---")] + "  broken: [1, 2\n   - x: : y\n"
    assert stated(cut)["prefill.tensor_parallel_size"] == 4


LLM_D = """\
modelArtifacts:
  name: meta/x
decode:
  parallelism: {tensor: 4, data: 2}
  containers:
  - name: vllm
    args: ["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
    env:
      - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: 10.0.0.9}
prefill:
  parallelism: {tensor: 1}
  containers:
  - name: vllm
    args:
      - "--max-model-len=8k"
"""
DYNAMO = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: vllm-disagg}
spec:
  services:
    VllmDecodeWorker:
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, q, --is-decode-worker, --tensor-parallel-size, "2"]
    Worker:
      subComponentType: prefill
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, q, --tensor-parallel-size, "8"]
    Third:
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, q, --disaggregation-mode, prefill, --block-size, "64"]
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
spec:
  parallelism: {tensor: 2}
  template:
    containers:
      - name: main
        env:
          - name: VLLM_ADDITIONAL_ARGS
            value: "--kv_transfer_config '{\\"kv_role\\":\\"kv_both\\"}' --block-size 64"
  prefill:
    parallelism: {tensor: 8}
    template:
      containers:
        - name: main
          env:
            - {name: VLLM_ADDITIONAL_ARGS, value: "--block-size 32"}
"""
RAY = """\
applications:
- args:
    prefill_config:
      engine_kwargs:
        tensor_parallel_size: 2
        kv_transfer_config: {kv_connector: NixlConnector, kv_role: kv_both,
                             kv_connector_extra_config: {backends: [UCX]}}
    decode_config:
      engine_kwargs:
        tensor_parallel_size: 4
"""
STACK = """\
servingEngineSpec:
  modelSpec:
  - name: "llama"
    modelURL: meta/x
    vllmConfig:
      enablePrefixCaching: true
      maxModelLen: 32000
      tensorParallelSize: 2
      extraArgs: ["--block-size", "64"]
    lmcacheConfig:
      enabled: true
      kvRole: kv_producer
"""
AIBRIX = """\
kind: StormService
apiVersion: orchestration.aibrix.ai/v1alpha1
spec:
  template:
    spec:
      roles:
        - name: prefill
          template:
            spec:
              containers:
                - name: p
                  command: ["sh", "-c"]
                  args:
                    - |
                      python3 -m vllm.entrypoints.openai.api_server --model m \\
                      --tensor-parallel-size 8
                  env:
                    - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: 10.0.0.9}
        - name: decode
          template:
            spec:
              containers:
                - command: ["sh", "-c", "vllm serve m -tp 2"]
"""
CONFIG_FILE = """\
model: meta/x
tensor-parallel-size: 4
kv-transfer-config:
  kv_connector: NixlConnector
  kv_role: kv_producer
enable-prefix-caching: false
"""
COMPOSE = """\
services:
  prefill:
    image: vllm/vllm-openai:latest
    command: --model m --tensor-parallel-size 2
    environment:
      VLLM_NIXL_SIDE_CHANNEL_PORT: "5600"
  decode:
    image: vllm/vllm-openai:latest
    command: ["--model", "m"]
    environment:
      - VLLM_NIXL_SIDE_CHANNEL_PORT=5601
"""
POD_JSON = json.dumps(
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x-decode-0"},
     "spec": {"containers": [{"args": ["--model", "m", "--tensor-parallel-size", "2"]}]}}, indent=1
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LLM_D, {"this.model": "meta/x", "decode.tensor_parallel_size": 4,
                 "decode.data_parallel_size": 2, "prefill.tensor_parallel_size": 1,
                 "prefill.max_model_len": 8000, "decode.kv_role": "kv_both",
                 "decode.kv_connector": "NixlConnector",
                 "decode.VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.9"}),
        (DYNAMO, {"decode.tensor_parallel_size": 2, "prefill.tensor_parallel_size": 8,
                  "prefill.block_size": 64}),
        (KSERVE, {"decode.tensor_parallel_size": 2, "prefill.tensor_parallel_size": 8,
                  "decode.block_size": 64, "prefill.block_size": 32, "decode.kv_role": "kv_both"}),
        (RAY, {"prefill.tensor_parallel_size": 2, "decode.tensor_parallel_size": 4,
               "prefill.kv_connector": "NixlConnector", "prefill.extra.backends": "UCX"}),
        (STACK, {"prefill.model": "meta/x", "prefill.tensor_parallel_size": 2,
                 "prefill.max_model_len": 32000, "prefill.kv_role": "kv_producer",
                 "prefill.block_size": 64}),
        (AIBRIX, {"prefill.tensor_parallel_size": 8, "decode.tensor_parallel_size": 2,
                  "prefill.VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.9"}),
        (CONFIG_FILE, {"prefill.model": "meta/x", "prefill.tensor_parallel_size": 4,
                       "prefill.kv_connector": "NixlConnector",
                       "prefill.enable_prefix_caching": False}),
        (COMPOSE, {"prefill.tensor_parallel_size": 2, "prefill.VLLM_NIXL_SIDE_CHANNEL_PORT": 5600,
                   "decode.VLLM_NIXL_SIDE_CHANNEL_PORT": 5601}),
        (POD_JSON, {"decode.tensor_parallel_size": 2, "decode.model": "m"}),
    ],
    ids=["llm-d", "dynamo", "kserve", "ray", "production-stack", "aibrix", "config", "compose",
         "kubectl-json"],
)  # fmt: skip
def test_each_orchestrator_tells_values_and_sides(text: str, expected: dict[str, Scalar]) -> None:
    found = stated(text)
    assert {name: found.get(name) for name in expected} == expected


def test_a_manifest_of_both_sides_is_of_no_side_itself() -> None:
    assert side_of(read_values(read(DEPLOYMENTS), table=TABLE)) == "this"
    assert side_of(read_values(read(CONFIG_FILE), table=TABLE)) == "prefill"


def test_a_manifest_before_a_log_is_read_too() -> None:
    log = "(APIServer pid=1) INFO 01-01 10:00:00 [x.py:1] Using max model len 77"
    found = stated(CONFIG_FILE + "\n" + log)
    assert found["prefill.tensor_parallel_size"] == 4
    assert found["prefill.max_model_len"] == 77


def test_read_yaml_reads_a_file_of_its_own() -> None:
    entry = read_yaml(RAY, TABLE).find("tensor_parallel_size", "decode")
    assert entry is not None
    assert (entry.value, entry.number) == (4, 10)


@pytest.mark.parametrize(
    "text",
    [
        "args:\n" + "a: &a [x, x, x, x]\n"
        + "".join(f"{c}: &{c} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
                  for p, c in zip("abcdefghijkl", "bcdefghijklm", strict=True)),
        "args: " + "[" * 20_000,
        "args:\n" + "- " * 20_000 + "x",
        "args:\n" + "\n".join(" " * n + "a:" for n in range(600)),
        "apiVersion: v1\nx: !!python/object/apply:os.system ['true']\n",
        "apiVersion: v1\nx: &x {<<: *x, a: 1}\n",
        "args: " + "{a: " * 5000,
        "command:\n" + "key: value\n" * 30_000,
    ],
    ids=["aliases", "brackets", "dashes", "indents", "tag", "self-merge", "braces", "long"],
)  # fmt: skip
def test_hostile_yaml_costs_little_and_does_nothing(text: str) -> None:
    start = time.process_time()
    read_yaml(text, TABLE)
    assert time.process_time() - start < 8


# -- config.json -------------------------------------------------------------------------------

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
         "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
         "torch_dtype": "bfloat16"}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (LLAMA, {"num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 32,
                 "is_mla": False, "dtype": "bfloat16", "architecture": "LlamaForCausalLM"}),
        ({**LLAMA, "head_dim": 64}, {"head_dim": 64}),
        ({**LLAMA, "num_key_value_heads": None}, {"num_key_value_heads": 32}),
        ({"model_type": "falcon", "num_attention_heads": 71, "hidden_size": 4544,
          "multi_query": True, "new_decoder_architecture": False}, {"num_key_value_heads": 1}),
        ({"model_type": "falcon", "num_attention_heads": 128, "hidden_size": 8192,
          "multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 8},
         {"num_key_value_heads": 8}),
        ({"model_type": "chatglm", "num_attention_heads": 32, "hidden_size": 4096,
          "multi_query_group_num": 2}, {"num_key_value_heads": 2}),
        ({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "num_hidden_layers": 2,
          "attn_config": {"kv_n_heads": 8}}, {"num_key_value_heads": 8}),
        ({"model_type": "deepseek_v3", "num_attention_heads": 128, "num_key_value_heads": 128,
          "hidden_size": 7168, "kv_lora_rank": 512, "qk_rope_head_dim": 64},
         {"is_mla": True, "kv_lora_rank": 512, "num_key_value_heads": 128}),
        ({"model_type": "minicpm3", "num_attention_heads": 40, "hidden_size": 2560,
          "kv_lora_rank": 256}, {"is_mla": None}),
        ({"model_type": "gemma3", "architectures": ["X"],
          "text_config": {"num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 2560,
                          "num_hidden_layers": 34, "sliding_window": 1024}},
         {"num_key_value_heads": 4, "sliding_window": 1024, "num_hidden_layers": 34}),
        ({**LLAMA, "sliding_window": 4096, "use_sliding_window": False}, {"sliding_window": None}),
        ({**LLAMA, "layer_types": ["sliding_attention", "full_attention"]},
         {"is_hybrid": False, "layer_types": "full_attention,sliding_attention"}),
        ({**LLAMA, "layer_types": ["linear_attention", "full_attention"]}, {"is_hybrid": True}),
        ({**LLAMA, "model_type": "jamba", "mamba_d_state": 16}, {"is_hybrid": True}),
        ({**LLAMA, "attention_chunk_size": 8192}, {"attention_chunk_size": 8192}),
    ],
)  # fmt: skip
def test_a_model_configuration_tells_heads_and_kind(
    config: dict[str, object], expected: dict[str, Scalar]
) -> None:
    values = read_hf_config(json.dumps(config, indent=2), TABLE)
    found = {name: (entry.value if (entry := values.find(name)) else None) for name in expected}
    assert found == expected


def test_a_model_configuration_inside_a_larger_paste_is_found_with_its_line() -> None:
    text = "some words\n$ cat config.json\n" + json.dumps(LLAMA, indent=2) + "\nmore words\n"
    entry = read_values(read(text), table=TABLE).find("num_key_value_heads")
    assert entry is not None
    assert (entry.value, entry.number, entry.origin) == (8, 3, "config")


def test_other_json_is_no_model_configuration() -> None:
    assert read_hf_config('{"model_type": "x", "answer": 42}', TABLE).entries == ()
    assert read_hf_config("{broken", TABLE).entries == ()
