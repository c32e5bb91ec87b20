"""``diagnose FILE…`` without other options, read without the cost of building a parser.

That is the common case, and building the parser takes a twentieth of it. Everything else, and
everything wrong, is left to the parser. A test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
else:  # the same to whoever reads its attributes
    from types import SimpleNamespace as Namespace


def options_of(arguments: Sequence[str]) -> Namespace | None:
    """The options of ``diagnose [--json] FILE…``; ``None`` when there is anything else."""
    if len(arguments) < 2 or arguments[0] != "diagnose":
        return None
    files = [one for one in arguments[1:] if one != "--json"]
    if not files or any(one.startswith("-") and one != "-" for one in files):
        return None
    return Namespace(
        command="diagnose",
        files=files,
        prefill=[],
        decode=[],
        sets=[],
        knowledge=[],
        json=len(files) < len(arguments) - 1,
        copy=None,
        record=None,
        symptom=None,
        note=None,
        hide_hosts=None,
        save=False,
        drawings=False,
        ascii=None,
    )
