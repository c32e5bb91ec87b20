"""Joins the tools to the official SDK. Importing this module needs the extra ``mcp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from kvdoctor import __version__
from kvdoctor.errors import KvdoctorError
from kvdoctor.mcp.tools import Tools

INSTRUCTIONS = (
    "Diagnoses KV-cache failures of vLLM from logs, tracebacks, launch commands and manifests. "
    "Call match with the text (prefill and decode when the sides are known). While its status is "
    "asks, put the question of ask_next to the user and call again with all answers; a value that "
    "nobody can tell is answered with ?. Never invent an answer. Fixes come with the proof that "
    "they work. Deterministic and offline; secrets in the text are replaced in what comes back."
)
READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
RUNS = ToolAnnotations(  # it starts a process with vLLM in it, whose imports may write caches
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
Text = Annotated[str, Field(description="log, traceback, launch command or manifest, as text")]
Prefill = Annotated[str, Field(description="the same of the prefill side")]
Decode = Annotated[str, Field(description="the same of the decode side")]
Answers = Annotated[
    dict[str, str | int | float | bool] | None,
    Field(description='values by the name of their question; "?" when nobody can tell'),
]


def serve(folders: tuple[str, ...] = (), *, run_proofs: bool = False, python: str = "") -> None:
    """Serve on standard input and output until the client leaves."""
    made(Tools(folders, run_proofs, python)).run("stdio")


def made(tools: Tools) -> MCPServer[Any]:
    """The server with its tools."""
    server: MCPServer[Any] = MCPServer(
        "kvdoctor", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )

    @server.tool(title="Root cause of a vLLM log", annotations=READS)
    def match(
        text: Text = "", prefill: Prefill = "", decode: Decode = "", answers: Answers = None
    ) -> dict[str, Any]:
        """Root cause, evidence, open questions and fixes with their proof. status: cause, asks
        (answers are missing), no_cause, no_match or broken."""
        return _told(lambda: tools.match(text, prefill, decode, answers or {}))

    @server.tool(title="Next open question", annotations=READS)
    def ask_next(
        text: Text = "", prefill: Prefill = "", decode: Decode = "", answers: Answers = None
    ) -> dict[str, Any]:
        """The one question that decides next, given the text and all answers so far; null when
        none is open."""
        return _told(lambda: tools.ask_next(text, prefill, decode, answers or {}))

    @server.tool(title="A record of the knowledge", annotations=READS)
    def explain(
        what: Annotated[str, Field(description="record id, published id, url or error message")],
    ) -> dict[str, Any]:
        """Messages, causes in the order in which they are tried, guards and fixes of a record."""
        return _told(lambda: tools.explain(what))

    @server.tool(title="Search the records", annotations=READS)
    def search(words: Annotated[str, Field(description="a few words")]) -> dict[str, Any]:
        """Records that speak of these words, best first."""
        return _told(lambda: tools.search(words))

    @server.tool(
        title="How a fix is shown to work", annotations=RUNS if tools.run_proofs else READS
    )
    def prove(
        record: Annotated[str, Field(description="id of a shipped record")],
        fix: Annotated[str, Field(description="id of the fix; the first when empty")] = "",
        answers: Answers = None,
        text: Text = "",
    ) -> dict[str, Any]:
        """The proof of a fix with these values: vLLM's conditions before and after it, and what
        would be run to ask the vLLM that is installed. It is run only where the server was started
        with --run-proofs."""
        return _told(lambda: tools.prove(record, fix, answers or {}, text))

    return server


def _told(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result; a problem with what was given is told to the client as it stands."""
    try:
        return work()
    except KvdoctorError as error:
        from kvdoctor.intake.redact import redact

        raise ToolError(redact(str(error))[0]) from error
