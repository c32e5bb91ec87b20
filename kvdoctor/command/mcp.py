"""``kvdoctor mcp``: the diagnosis as tools for programs that speak the Model Context Protocol."""

from __future__ import annotations

from kvdoctor.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands


def add(commands: Commands) -> None:
    """The options of ``kvdoctor mcp``."""
    mcp = commands.add_parser(
        "mcp",
        help="serve match, ask_next, explain, search and prove over MCP (stdio)",
        epilog='Needs the extra: pip install "kvdoctor[mcp]". No tool reads a file that a '
        "caller names or changes one; prove says what it would run. With --run-proofs it starts "
        "the vLLM that is installed here.",
    )
    mcp.add_argument(
        "--run-proofs",
        action="store_true",
        help="let prove ask the guard of the vLLM that is installed here",
    )
    mcp.add_argument("--python", default="", metavar="PATH", help="interpreter that has vLLM")
    mcp.add_argument(
        "--knowledge", action="append", default=[], metavar="FOLDER", help="private records"
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the client leaves. Returns 0. Raises InputError when the SDK is missing."""
    try:
        from kvdoctor.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise InputError(
            "the MCP server needs the package mcp", remedy='pip install "kvdoctor[mcp]"'
        ) from error
    serve(tuple(options.knowledge), run_proofs=options.run_proofs, python=options.python)
    return 0
