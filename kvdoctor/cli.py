"""The command line: one subcommand a job, the screen when none is named.

Exit status: 0 a cause was found, 1 nothing known matched, 2 usage or unreadable input,
3 identified but answers are missing. Problems go to stderr; under --json stdout holds JSON alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kvdoctor import __version__
from kvdoctor.errors import InputError, KvdoctorError
from kvdoctor.inputs import answers_of, load_knowledge, record_named, sources_of

if TYPE_CHECKING:
    import argparse

    from kvdoctor.knowledge import Knowledge
    from kvdoctor.report import Report

FOUND, NO_MATCH, USAGE, NEEDS_ANSWERS = 0, 1, 2, 3
COMMANDS = (
    "diagnose",
    "explain",
    "search",
    "prove",
    "lint",
    "new",
    "harvest",
    "import",
    "info",
    "screen",
)
STATUS_CODES = {
    "cause": FOUND,
    "asks": NEEDS_ANSWERS,
    "no_cause": NO_MATCH,
    "no_match": NO_MATCH,
    "broken": USAGE,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except KvdoctorError as error:
        print(f"kvdoctor: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # The reader of our output has gone (| head): leave quietly, and keep the interpreter
        # from complaining about the same pipe once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        print(f"kvdoctor {__version__}")
        return FOUND
    if arguments and arguments[0] in ("-h", "--help"):
        _parser().print_help()
        return FOUND
    if not arguments or arguments[0] not in COMMANDS:
        arguments.insert(0, "screen")
    options = _parser().parse_args(arguments)
    handler: Callable[[argparse.Namespace], int] = options.handler
    return handler(options)


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="kvdoctor",
        description="From a vLLM log to the root cause of a KV-cache failure and a proven fix. "
        "Offline and deterministic: no language model is used.",
        epilog="Without a command the screen opens: kvdoctor LOG, or kubectl logs POD | kvdoctor.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"kvdoctor {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    _add_screen(commands)
    _add_diagnose(commands)
    _add_lookups(commands)
    _add_author_commands(commands)
    return parser


def _add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files", nargs="*", metavar="FILE", help="log, traceback, command or YAML; - is stdin"
    )
    command.add_argument(
        "--prefill",
        action="append",
        default=[],
        metavar="FILE",
        help="a log or command of the prefill side",
    )
    command.add_argument(
        "--decode",
        action="append",
        default=[],
        metavar="FILE",
        help="a log or command of the decode side",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="sets",
        help="answer a question, or state a value (prefill.block_size=64)",
    )
    _add_knowledge(command)


def _add_knowledge(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--knowledge",
        action="append",
        default=[],
        metavar="FOLDER",
        help="private records that extend and override the shipped ones",
    )


def _add_screen(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    screen = commands.add_parser("screen", help="the full screen (the default)")
    _add_inputs(screen)
    screen.add_argument("--plain", action="store_true", help="a linear dialogue, no screen")
    screen.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    screen.set_defaults(handler=_screen)


def _add_diagnose(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    diagnose = commands.add_parser("diagnose", help="root cause, cause and fix on standard output")
    _add_inputs(diagnose)
    diagnose.add_argument("--json", action="store_true", help="one JSON document per input")
    diagnose.add_argument(
        "--copy",
        nargs="?",
        const="",
        metavar="FIX",
        help="copy the first (or the named) fix to the clipboard",
    )
    diagnose.add_argument("--record", metavar="ID", help="diagnose for this record")
    diagnose.add_argument(
        "--symptom",
        nargs="?",
        const="",
        metavar="ANSWERS",
        help="no error message: walk the tree of symptoms",
    )
    diagnose.add_argument(
        "--note",
        choices=("markdown", "slack", "plain", "issue"),
        help="an incident note instead of the report",
    )
    diagnose.set_defaults(handler=_diagnose)


def _add_lookups(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser("explain", help="a record, by id, published id, url or message")
    explain.add_argument("what", nargs="+", metavar="ID")
    explain.add_argument("--json", action="store_true")
    _add_knowledge(explain)
    explain.set_defaults(handler=_explain)
    search = commands.add_parser("search", help="records that speak of these words")
    search.add_argument("words", nargs="+", metavar="WORD")
    search.add_argument("--json", action="store_true")
    _add_knowledge(search)
    search.set_defaults(handler=_search)
    info = commands.add_parser("info", help="versions, counts and where everything lives")
    info.add_argument("--json", action="store_true")
    _add_knowledge(info)
    info.set_defaults(handler=_info)
    prove = commands.add_parser("prove", help="ask the guard of your own vLLM installation")
    prove.add_argument("record", metavar="ID")
    prove.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="sets")
    prove.add_argument("--python", metavar="PATH", help="interpreter that has vLLM")
    prove.add_argument("--fix", metavar="FIX", help="the fix to prove (default: the first)")
    prove.add_argument(
        "--from",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="log to read the values from; - is stdin",
    )
    prove.add_argument("--seconds", type=int, default=180, help="time limit (default 180)")
    prove.add_argument("--json", action="store_true")
    _add_knowledge(prove)
    prove.set_defaults(handler=_prove)


def _add_author_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lint = commands.add_parser("lint", help="check records: form, reach, examples")
    lint.add_argument("paths", nargs="*", metavar="PATH")
    lint.add_argument("--json", action="store_true")
    _add_knowledge(lint)
    lint.set_defaults(handler=_lint)
    new = commands.add_parser("new", help="print a fresh record to fill in")
    new.add_argument("id", metavar="ID")
    new.add_argument("--out", metavar="FOLDER", help="write FOLDER/ID.yaml instead")
    new.set_defaults(handler=_new)
    bring = commands.add_parser("import", help="published records (JSON or page text) to drafts")
    bring.add_argument("files", nargs="+", metavar="FILE")
    bring.add_argument(
        "--out",
        metavar="FOLDER",
        help="where the drafts go (default: your private knowledge folder)",
    )
    bring.add_argument("--json", action="store_true")
    bring.set_defaults(handler=_import)
    harvest = commands.add_parser("harvest", help="vLLM source trees to the catalogue of sites")
    harvest.add_argument("sources", nargs="+", metavar="SOURCE")
    harvest.add_argument("--out", metavar="FOLDER", required=True)
    harvest.set_defaults(handler=_harvest)


# -- commands -------------------------------------------------------------------------------------


def _screen(options: argparse.Namespace) -> int:
    from kvdoctor.terminal import can_show_a_screen

    if options.plain or not can_show_a_screen():
        return _dialogue(options)
    from kvdoctor.ui import run_screen

    return run_screen(options)


def _dialogue(options: argparse.Namespace) -> int:
    """The linear form: with a terminal it asks, without one it reports and never prompts."""
    from kvdoctor import dialogue

    knowledge = load_knowledge(options.knowledge)
    sources = sources_of(options, knowledge)
    answers = answers_of(options.sets)
    if not sources and not sys.stdin.isatty():
        raise InputError("nothing to read", remedy="give a FILE, or pipe a log into kvdoctor")
    return dialogue.run(sources, knowledge, answers)


def _diagnose(options: argparse.Namespace) -> int:
    from kvdoctor.report import read_sources, report

    knowledge = load_knowledge(options.knowledge)
    if options.symptom is not None:
        return _symptom(options, knowledge)
    answers = answers_of(options.sets)
    sources = sources_of(options, knowledge)
    if not sources and not options.record:
        raise InputError("nothing to read", remedy="give a FILE, or pipe a log into kvdoctor")
    record_id = record_named(options.record, knowledge) if options.record else None
    together = bool(options.prefill or options.decode) or record_id is not None
    batches = [sources] if together or not sources else [[source] for source in sources]
    codes: list[int] = []
    for batch in batches:
        shown = report(
            read_sources(batch, knowledge), knowledge, record_id=record_id, answers=answers
        )
        _complain(shown, answers)
        codes.append(_print_report(options, shown, knowledge))
    return _worst(codes)


def _worst(codes: Sequence[int]) -> int:
    """0 when any input had its cause found; else the most useful of the others."""
    for code in (FOUND, NEEDS_ANSWERS, USAGE):
        if code in codes:
            return code
    return NO_MATCH


def _complain(shown: Report, answers: dict[str, object]) -> None:
    """Answers that do not fit are an error the user must hear about, never silently dropped."""
    if shown.facts is not None:
        for name, complaint in shown.facts.rejected:
            raise InputError(f"--set {name}: {complaint}", remedy="correct the value")
        known = {*shown.facts.known, "vllm_release"}
        if shown.record is not None:
            known |= set(shown.record.inputs)
        for name in answers:
            if "." not in name and name not in known and not shown.values.find(name):
                print(f"kvdoctor: --set {name}: no such input here", file=sys.stderr)


def _print_report(options: argparse.Namespace, shown: Report, knowledge: Knowledge) -> int:
    import json

    if options.note:
        from kvdoctor.note import incident_note

        print(incident_note(shown, knowledge, options.note))
    elif options.json:
        from kvdoctor.document import document

        print(json.dumps(document(shown), ensure_ascii=False))
    else:
        from kvdoctor.plain import report_text

        print(report_text(shown, knowledge))
    if options.copy is not None:
        _copy_fix(options.copy, shown)
    return STATUS_CODES[shown.status]


def _copy_fix(wanted: str, shown: Report) -> None:
    from kvdoctor.clipboard import copy

    fixes = [one.fix for one in shown.fixes if not wanted or one.fix.id == wanted]
    if not fixes:
        names = ", ".join(one.fix.id for one in shown.fixes) or "none is offered"
        raise InputError(f"--copy {wanted}: no such fix", remedy=f"fixes: {names}")
    if fixes[0].proof.level == "unproven" and not wanted:
        raise InputError("the only fix is unproven", remedy=f"name it: --copy {fixes[0].id}")
    print(copy(fixes[0].snippet).told, file=sys.stderr)


def _explain(options: argparse.Namespace) -> int:
    import json

    from kvdoctor.explain import explanation, explanation_text

    knowledge = load_knowledge(options.knowledge)
    what = " ".join(options.what)
    found = explanation(what, knowledge)
    if found is None:
        near = ", ".join(hit.id for hit in knowledge.search(what)[:3])
        print(
            f"kvdoctor: nothing known as {what!r}" + (f"; close: {near}" if near else ""),
            file=sys.stderr,
        )
        return NO_MATCH
    print(json.dumps(found, ensure_ascii=False) if options.json else explanation_text(found))
    return FOUND


def _search(options: argparse.Namespace) -> int:
    import json

    knowledge = load_knowledge(options.knowledge)
    hits = knowledge.search(" ".join(options.words))
    if options.json:
        print(
            json.dumps([{"record": hit.id, "title": hit.title} for hit in hits], ensure_ascii=False)
        )
    else:
        for hit in hits:
            print(f"{hit.id:44} {hit.title}")
    return FOUND if hits else NO_MATCH


def _info(options: argparse.Namespace) -> int:
    import json

    from kvdoctor.explain import info, info_text

    found = info(load_knowledge(options.knowledge))
    print(json.dumps(found, ensure_ascii=False) if options.json else info_text(found))
    return FOUND


def _harvest(options: argparse.Namespace) -> int:
    from kvdoctor import harvest

    done = harvest.run(options.sources, options.out, say=lambda text: print(text, file=sys.stderr))
    print(f"{done['folder']}: {len(options.sources)} releases")
    return FOUND


def _prove(options: argparse.Namespace) -> int:
    from kvdoctor.proving import prove_command

    return prove_command(options, load_knowledge(options.knowledge))


def _symptom(options: argparse.Namespace, knowledge: Knowledge) -> int:
    from kvdoctor.symptoms import symptom_command

    return symptom_command(options.symptom, knowledge, as_json=options.json)


def _lint(options: argparse.Namespace) -> int:
    from kvdoctor.lint import lint_command

    return lint_command(options.paths, options.knowledge, as_json=options.json)


def _new(options: argparse.Namespace) -> int:
    from pathlib import Path

    from kvdoctor.new import fresh_record

    text = fresh_record(options.id)
    if not options.out:
        print(text, end="")
        return FOUND
    target = Path(options.out) / f"{options.id}.yaml"
    if target.exists():
        raise InputError("exists already", file=str(target), remedy="choose another id")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(target)
    return FOUND


def _import(options: argparse.Namespace) -> int:
    import json
    from pathlib import Path

    from kvdoctor.data import asdict
    from kvdoctor.importing import import_files
    from kvdoctor.load import private_folder

    done = import_files(options.files, Path(options.out) if options.out else private_folder())
    if options.json:
        print(json.dumps([asdict(one) for one in done], ensure_ascii=False))
    for one in done:
        if one.problem:
            print(f"kvdoctor: not imported: {one.problem}", file=sys.stderr)
        elif not options.json:
            print(f"{one.record}: draft written to {one.written}")
    return USAGE if any(one.problem for one in done) else FOUND
