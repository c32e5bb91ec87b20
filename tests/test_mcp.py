"""The tools for programs that speak the Model Context Protocol: each by itself, then all of them
through the SDK's own client over a real pipe."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kvdoctor.errors import InputError, KvdoctorError
from kvdoctor.mcp.tools import Tools

CASES = Path(__file__).with_name("cases")
LOG = (CASES / "061-nixl-blocksize-d-smaller" / "decode.log").read_text("utf-8")
ASKS = (CASES / "082-mooncake-rdma-missing" / "prefill.log").read_text("utf-8")
RECORD = "nixl-block-size-not-multiple"
needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason='needs pip install "kvdoctor[mcp]"'
)
TOOLS = Tools()


def test_match_gives_cause_evidence_and_fixes_with_their_proof() -> None:
    found = TOOLS.match(LOG, "", "", {})
    assert (found["status"], found["record"]) == ("cause", RECORD)
    assert found["evidence"][0]["line"] > 0
    assert (found["fixes"][0]["snippet"], found["fixes"][0]["proof"]) == (
        "--block-size 128",
        "guard",
    )
    assert json.loads(json.dumps(found)) == found


def test_questions_come_one_after_another_until_the_cause_is_known() -> None:
    first = TOOLS.ask_next("", ASKS, "", {})
    assert first["status"] == "asks"
    assert first["question"]["name"] == "rdma_expected"
    assert first["decides"]
    assert first["cause"] is None
    second = TOOLS.ask_next("", ASKS, "", {"rdma_expected": True})
    assert (second["status"], second["question"]) == ("cause", None)
    assert second["cause"]


def test_the_same_question_has_the_same_answer() -> None:
    assert TOOLS.match(LOG, "", "", {}) == TOOLS.match(LOG, "", "", {})


def test_nothing_comes_back_that_was_a_secret() -> None:
    secret = "hf_" + "aB3" * 12
    found = TOOLS.match(
        LOG.replace("not divisible", f"not divisible HF_TOKEN={secret}"), "", "", {}
    )
    assert secret not in json.dumps(found)


def test_what_does_not_fit_is_an_error_with_a_remedy() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: TOOLS.match(" \n", "", "", {}),
        lambda: TOOLS.explain("no such record anywhere at all"),
        lambda: TOOLS.prove("no-such-record", "", {}, ""),
        lambda: TOOLS.match("", ASKS, "", {"rdma_expected": "perhaps so"}),
    ]
    for one in wrong:
        with pytest.raises(KvdoctorError):
            one()


def test_search_names_records() -> None:
    found = TOOLS.search("block size")
    assert RECORD in [one["record"] for one in found["records"]]


def test_a_proof_says_what_it_would_run_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    shown = TOOLS.prove(RECORD, "", {}, LOG)
    assert (shown["status"], shown["run"]) == ("shown", None)
    assert shown["would_run"]["calls"][0]["mirrors"].startswith("vllm.")
    assert not shown["would_run"]["allowed"]
    assert shown["command"].startswith(f"kvdoctor prove {RECORD} --fix ")
    assert [(one["before"], one["after"]) for one in shown["guards"]] == [(False, True)]
    assert shown["shown"]["level"] == "guard"


def test_a_proof_without_values_asks_for_them() -> None:
    shown = TOOLS.prove(RECORD, "", {}, "")
    assert shown["status"] == "asks"
    assert shown["questions"]


def test_a_server_that_may_runs_the_proof(tmp_path: Path) -> None:
    shown = Tools(run_proofs=True, python=str(tmp_path / "none")).prove(RECORD, "", {}, LOG)
    assert shown["run"]["outcome"] == "no-vllm"
    assert not shown["run"]["proven"]


def test_a_private_record_is_not_proven(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[1] / "knowledge" / "records"
    file = next(shipped.rglob(f"{RECORD}.yaml"))
    (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    with pytest.raises(InputError, match="private record"):
        Tools((str(tmp_path),), run_proofs=True).prove(RECORD, "", {}, LOG)


def test_without_the_extra_the_command_names_it() -> None:
    code = (
        "import sys\nsys.modules['mcp'] = None\nsys.modules['mcp.server'] = None\n"
        "from kvdoctor.cli import main\nsys.exit(main(['mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert 'pip install "kvdoctor[mcp]"' in done.stderr
    assert "Traceback" not in done.stderr


# -- over a real pipe ---------------------------------------------------------------------------


def served(talk: Callable[[Any], Awaitable[None]], *flags: str) -> None:
    """Start the server as a client would and talk to it."""
    from mcp import Client, StdioServerParameters

    async def main() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "kvdoctor", "mcp", *flags]
        )
        async with Client(server, read_timeout_seconds=60) as client:
            await talk(client)

    asyncio.run(main())


@needs_sdk
def test_the_sdks_own_client_is_served_over_a_pipe() -> None:
    async def talk(client: Any) -> None:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert set(tools) == {"match", "ask_next", "explain", "search", "prove"}
        assert all(one.description and one.annotations.read_only_hint for one in tools.values())
        assert "prefill side" in json.dumps(tools["match"].input_schema)

        async def call(tool: str, **given: Any) -> Any:
            done = await client.call_tool(tool, given)
            assert not done.is_error, done.content
            return json.loads(done.content[0].text)

        found = await call("match", text=LOG)
        assert found["fixes"][0]["snippet"] == "--block-size 128"
        asked = await call("ask_next", prefill=ASKS)
        assert asked["question"]["name"] == "rdma_expected"
        answered = await call("ask_next", prefill=ASKS, answers={"rdma_expected": "yes"})
        assert answered["status"] == "cause"
        assert (await call("explain", what="805e537459597a3f"))["record"]
        assert (await call("search", words="block size"))["records"]
        assert (await call("prove", record=RECORD, text=LOG))["run"] is None
        wrong = await client.call_tool("explain", {"what": "no such record anywhere"})
        assert wrong.is_error
        assert "use search" in wrong.content[0].text
        missing = await client.call_tool("explain", {})
        assert missing.is_error

    served(talk)


@needs_sdk
def test_the_server_leaves_when_its_input_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvdoctor", "mcp"],
        input="this is no request\n", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert all(line.startswith("{") for line in done.stdout.splitlines())


@needs_sdk
def test_only_a_server_that_runs_proofs_has_a_tool_that_does_not_just_read() -> None:
    async def reading(client: Any) -> None:
        assert all(one.annotations.read_only_hint for one in (await client.list_tools()).tools)

    async def running(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [one.name for one in tools if not one.annotations.read_only_hint] == ["prove"]

    served(reading)
    served(running, "--run-proofs")
