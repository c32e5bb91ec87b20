"""``kvdoctor export``: the knowledge as rules or pages of another system."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from kvdoctor.command.inputs import load_knowledge, record_named, tell
from kvdoctor.errors import InputError
from kvdoctor.export import FORMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.command.registry import Commands


def add(commands: Commands) -> None:
    """The options of ``kvdoctor export``."""
    export = commands.add_parser(
        "export",
        help="the knowledge as rules of Loki, Elasticsearch, OpenTelemetry, Vector, or as runbooks",
        epilog="With one file it goes to standard output; --out FOLDER writes files.",
    )
    export.add_argument("form", choices=sorted(FORMS), metavar="SYSTEM", help=", ".join(FORMS))
    export.add_argument("--out", metavar="FOLDER", help="write the files there")
    export.add_argument(
        "--severity",
        default="",
        metavar="LIST",
        help="error, danger, warning, notice (default all)",
    )
    export.add_argument("--only", action="append", default=[], metavar="ID", help="this record")
    export.add_argument("--url", default="", help="loki: address before a runbook's name")
    export.add_argument("--selector", default="", help="loki: stream selector")
    export.add_argument("--by", default="", help="loki: labels that an alert keeps")
    export.add_argument("--window", default="", help="loki: time range (default 5m)")
    export.add_argument("--inputs", default="", help="vector: names of the inputs")
    export.add_argument("--title", default="", help="runbooks: title of the index")
    export.add_argument(
        "--knowledge", action="append", default=[], metavar="FOLDER", help="private records"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0; what could not be exported is counted on stderr and listed in the file."""
    from kvdoctor.export.rules import SEVERITIES, rules

    wanted = [one.strip() for one in options.severity.split(",") if one.strip()]
    for one in wanted:
        if one not in SEVERITIES:
            raise InputError(f"--severity {one}: no such severity", remedy=", ".join(SEVERITIES))
    knowledge = load_knowledge(options.knowledge)
    only = [record_named(one, knowledge) for one in options.only]
    made, left = rules(knowledge, wanted, only)
    names = ("url", "selector", "by", "window", "inputs", "title")
    settings = {name: getattr(options, name) for name in names}
    files: dict[str, str] = import_module(FORMS[options.form]).render(made, left, settings)
    records = len({rule.record.id for rule in made})
    tell(f"{len(made)} patterns of {records} records; {len(left)} records cannot be told by a line")
    if options.out:
        folder = Path(options.out)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder}: {len(files)} file{'s' if len(files) > 1 else ''}")
        return 0
    if len(files) > 1:
        raise InputError(f"{options.form} needs {len(files)} files", remedy="name a folder: --out")
    sys.stdout.write(next(iter(files.values())))
    return 0
