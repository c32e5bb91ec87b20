"""Commands that live in modules of their own.

Each module has ``add(commands)``, which states the command's options, and ``run(options)``, which
runs it and returns the exit status. It is imported when its command is named, or for the help.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

MODULES: dict[str, str] = {
    "completion": "kvdoctor.command.completion",
    "export": "kvdoctor.command.export",
    "history": "kvdoctor.command.history",
    "man": "kvdoctor.command.man",
    "mcp": "kvdoctor.command.mcp",
    "prove": "kvdoctor.command.proving",
    "scan": "kvdoctor.command.scan",
    "serve": "kvdoctor.command.serve",
}
