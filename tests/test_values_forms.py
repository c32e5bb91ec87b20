"""One configuration in every form in which people have it at hand states the same values."""

from __future__ import annotations

import json
import shlex

import pytest
from fuzz.pipeline import shipped

from kvdoctor.api import diagnose
from kvdoctor.intake import read
from kvdoctor.values import read_values

TRANSFER = (
    '{"kv_connector": "NixlConnector", "kv_role": "kv_producer", '
    '"kv_connector_extra_config": {"backends": ["UCX"]}}'
)
WORDS = [
    "--tensor-parallel-size", "8", "--block-size", "128", "--max-model-len", "32768",
    "--gpu-memory-utilization", "0.85", "--kv-cache-dtype", "fp8", "--enforce-eager",
    "--kv-transfer-config", TRANSFER,
]  # fmt: skip
MODEL = "/models/llama"
IMAGE = "vllm/vllm-openai:v0.31.0"
STATED = {
    "model": MODEL, "tensor_parallel_size": 8, "block_size": 128, "max_model_len": 32768,
    "gpu_memory_utilization": 0.85, "kv_cache_dtype": "fp8", "enforce_eager": True,
    "kv_connector": "NixlConnector", "kv_role": "kv_producer",
}  # fmt: skip
ONE_LINE = f"vllm serve {MODEL} {shlex.join(WORDS)}"
CONTINUED = ONE_LINE.replace(" --", " \\\n    --")
CALL = f"""from vllm import LLM
size = 8
llm = LLM(
    "{MODEL}",
    tensor_parallel_size=8, block_size=128, max_model_len=32768,
    gpu_memory_utilization=0.85, kv_cache_dtype="fp8", enforce_eager=True,
    max_num_seqs=size,  # a name says nothing
    kv_transfer_config=KVTransferConfig(kv_connector="NixlConnector", kv_role="kv_producer"),
)
"""
DESCRIBED = (
    f"Containers:\n  vllm:\n    Container ID:  containerd://ab\n    Image:         {IMAGE}\n"
    f"    Command:\n      vllm\n      serve\n      {MODEL}\n    Args:\n"
    + "".join(f"      {word}\n" for word in WORDS)
    + "    State:          Running\n      Started:      Tue, 01 Dec 2026 12:00:00 +0000\n"
    "    Environment:\n      VLLM_NIXL_SIDE_CHANNEL_PORT:  5601\n"
    "      HF_TOKEN:  <set to the key 'token' in secret 'hf'>\n"
)


def listed(words: list[str], room: str) -> str:
    return "".join(f"{room}- {json.dumps(word)}\n" for word in words)


CONTAINER = f"containers:\n  - name: vllm\n    image: {IMAGE}\n"
FORMS = {
    "one line": ONE_LINE,
    "continued": CONTINUED,
    "module": f"python3 -m vllm.entrypoints.openai.api_server --model {MODEL} {shlex.join(WORDS)}",
    "variables before it": f"CUDA_VISIBLE_DEVICES=0 {ONE_LINE}",
    "docker run": f"docker run --gpus all -e A=b {IMAGE} --model {MODEL} {shlex.join(WORDS)}",
    "slurm": f"srun --gres=gpu:8 {ONE_LINE}",
    "systemd": f"[Service]\nExecStart=/opt/venv/bin/{ONE_LINE}\n",
    "pod": f"{CONTAINER}    args:\n{listed(['--model', MODEL, *WORDS], '      ')}",
    "pod, flow": f"{CONTAINER}    args: {json.dumps(['--model', MODEL, *WORDS])}\n",
    "pod, shell": f'{CONTAINER}    command: ["/bin/bash", "-c"]\n    args:\n      - |\n'
    + "".join(f"        {row}\n" for row in CONTINUED.split("\n")),
    "pod as JSON": json.dumps(
        {"spec": {"containers": [{"image": IMAGE, "args": ["--model", MODEL, *WORDS]}]}}, indent=2
    ),
    "kubectl describe": DESCRIBED,
    "docker inspect": json.dumps(
        [
            {
                "Id": "ab",
                "Path": "vllm",
                "Args": ["serve", MODEL, *WORDS],
                "Config": {"Image": IMAGE},
            }
        ],
        indent=4,
    ),
    "list of processes": f"root 43 3.1 ? Ssl 1:23 python3 /usr/local/bin/vllm serve {MODEL} "
    + " ".join(WORDS),
    "trace of a shell": f"+ {ONE_LINE}",
    "Python": CALL,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_states_the_same_values(form: str) -> None:
    found = read_values(read(FORMS[form], "notes.txt"), table=shipped().value_table)
    stated: dict[str, object] = {}
    for entry in found.entries:
        if entry.certainty != "usual":
            stated.setdefault(entry.name, entry.value)
    assert {name: stated.get(name) for name in STATED} == STATED


def test_a_described_pod_tells_lines_and_variables_and_no_secret() -> None:
    found = read_values(read(DESCRIBED), table=shipped().value_table)
    told = {one.name: one for one in found.entries if one.certainty != "usual"}
    assert DESCRIBED.split("\n")[told["block_size"].number - 1].strip() == "128"
    assert str(told["VLLM_NIXL_SIDE_CHANNEL_PORT"].value) == "5601"
    assert "HF_TOKEN" not in told


def test_what_a_script_would_have_to_run_states_nothing() -> None:
    text = 'LLM(model=pick(), block_size=64 * 2, tensor_parallel_size=int("8"), seed=1)\n'
    found = read_values(read(text), table=shipped().value_table)
    stated = {one.name for one in found.entries if one.certainty != "usual"}
    assert stated == {"seed"}
    for broken in ("LLM(", "LLM(model='x", "EngineArgs(" + "(" * 500, "LLM(x for x in y)"):
        read_values(read(broken), table=shipped().value_table)


def test_a_described_pod_beside_an_error_answers_its_questions() -> None:
    error = "Local block size 32 is not divisible by remote block size 128 or vice versa."
    found = diagnose(f"{DESCRIBED}\nAssertionError: {error}\n")
    assert found.release == "0.31.0"
    assert found.status == "cause"
