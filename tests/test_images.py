"""The release that the name of a container image states, and what goes before it."""

from __future__ import annotations

import pytest
from fuzz.pipeline import shipped

from kvdoctor.api import diagnose
from kvdoctor.intake import read
from kvdoctor.intake.paste import Release

MESSAGE = (
    "AssertionError: Local block size 32 is not divisible by remote block size 128 or vice versa."
)
BANNER = (
    "(EngineCore pid=9) INFO 11-30 12:00:00 [core.py:113] "
    "Initializing a V1 LLM engine (v0.32.0) with config: model='/models/x'\n"
)
FRAME = """(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332]   File "/x/dist-packages/vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py", line 975, in _build_store_jobs
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332]     assert len(offload_keys) == len(offload_block_ids)
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332] AssertionError
"""  # noqa: E501 (a real one)


def released(text: str) -> Release:
    return read(text, knowledge=shipped().reading).release


@pytest.mark.parametrize(
    ("line", "release", "suffix"),
    [
        ("          image: vllm/vllm-openai:v0.26.0@sha256:ffb2d59b1c05", "0.26.0", ""),
        ("docker run --gpus all vllm/vllm-openai:v0.20.2-cu129-ubuntu2404 --model x", "0.20.2", ""),
        ("  - image: registry.internal/vllm/vllm-openai-rocm:v0.33.0rc1", "0.33.0", "rc1"),
        ('"image": "vllm/vllm-openai-cpu:v0.11.2"', "0.11.2", ""),
    ],
)
def test_an_image_of_vllm_states_the_release(line: str, release: str, suffix: str) -> None:
    found = released(f"{line}\n{MESSAGE}\n")
    assert (found.release, found.suffix, found.how) == (release, suffix, "image")
    assert found.number == 1


@pytest.mark.parametrize(
    "text",
    [
        "image: vllm/vllm-openai:latest",
        "image: someone/llm-serving:v0.26.0",
        "image: vllm/vllm-openai:v0.26.0\nimage: vllm/vllm-openai:v0.31.0",
    ],
)
def test_an_image_that_states_no_one_release_tells_none(text: str) -> None:
    assert released(f"{text}\n{MESSAGE}\n").candidates == ()


def test_the_banner_goes_before_the_image() -> None:
    found = released(f"image: vllm/vllm-openai:v0.26.0\n{BANNER}{MESSAGE}\n")
    assert (found.release, found.how) == ("0.32.0", "banner")


def test_frames_of_another_release_go_before_the_image() -> None:
    assert released(FRAME).release == "0.26.0"
    assert released(f"image: vllm/vllm-openai:v0.26.0\n{FRAME}").how == "image"
    other = released(f"image: vllm/vllm-openai:v0.31.0\n{FRAME}")
    assert (other.release, other.how) == ("0.26.0", "frames")


def test_the_diagnosis_of_a_bare_message_takes_the_release_of_the_image() -> None:
    found = diagnose(f"image: vllm/vllm-openai:v0.26.0\n{MESSAGE}\n")
    assert found.release == "0.26.0"
