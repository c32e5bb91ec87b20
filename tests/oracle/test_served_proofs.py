"""The tools for programs, served as to a client, let the real vLLM answer."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import environment
import pytest

LOG = Path(__file__).parents[1] / "cases" / "061-nixl-blocksize-d-smaller" / "decode.log"
RECORD = "nixl-block-size-not-multiple"


@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra mcp")
def test_prove_runs_the_guard_of_the_vllm_that_is_named() -> None:
    from mcp import Client, StdioServerParameters

    async def talk() -> Any:
        command = ["-m", "kvdoctor", "mcp", "--run-proofs", "--python", str(environment.python())]
        server = StdioServerParameters(command=sys.executable, args=command)
        async with Client(server, read_timeout_seconds=300) as client:
            tools = {one.name: one for one in (await client.list_tools()).tools}
            assert not tools["prove"].annotations.read_only_hint
            given = {"record": RECORD, "text": LOG.read_text("utf-8")}
            done = await client.call_tool("prove", given)
            assert not done.is_error, done.content
            return json.loads(done.content[0].text)

    shown = asyncio.run(talk())
    run = shown["run"]
    assert run["proven"], run
    assert (run["outcome"], shown["would_run"]["allowed"]) == ("proven", True), run
    assert shown["would_run"]["interpreter"] == str(environment.python())
    assert shown["guards"][0]["before"] is False
