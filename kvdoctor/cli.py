"""The command line: one subcommand a job, the screen when none is named.

Exit status: 0 a cause was found, 1 nothing known matched, 2 usage or unreadable input,
3 identified but answers are missing. Problems go to stderr; under --json stdout holds JSON alone.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from kvdoctor import __version__
from kvdoctor.command.inputs import (
    answers_of,
    exists,
    has_terminal_input,
    load_knowledge,
    near_records,
    record_named,
    sources_of,
    tell,
)
from kvdoctor.command.registry import MODULES
from kvdoctor.errors import InputError, KvdoctorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from kvdoctor.knowledge import Knowledge
    from kvdoctor.report import Report

FOUND, NO_MATCH, USAGE, NEEDS_ANSWERS = 0, 1, 2, 3
STATUS_CODES = {
    "cause": FOUND,
    "asks": NEEDS_ANSWERS,
    "no_cause": NO_MATCH,
    "no_match": NO_MATCH,
    "broken": USAGE,
}
# Options that only "diagnose" has: "kvdoctor LOG --json" can mean nothing else.
_OF_DIAGNOSE = (
    "--json", "--copy", "--note", "--record", "--symptom", "--hide-hosts",
    "--no-hide-hosts", "--save",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    if argv is not None:
        given = list(argv)
        return guarded(lambda: _run(given))
    # This process is gone before its garbage matters: one search for it at the very end would
    # cost a tenth of a short diagnosis.
    gc.set_threshold(100_000, 20, 20)
    try:
        return guarded(lambda: _run(sys.argv[1:]))
    finally:
        gc.freeze()


def guarded(work: Callable[[], int]) -> int:
    """Run one command; problems become a line on stderr and an exit status."""
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KvdoctorError as error:
        return _told(str(error))
    except BrokenPipeError:
        _give_up()  # the reader of our output has gone (| head): leave quietly
        return FOUND
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        _give_up()
        place = str(error.filename or "the output")
        return _told(str(InputError(error.strerror or str(error), file=place)))
    return code


def _give_up() -> None:
    from kvdoctor.command.output import give_up

    give_up()


def _told(problem: str) -> int:
    tell(problem)
    return USAGE


def _run(arguments: list[str]) -> int:
    if sys.stdout is None:
        raise InputError("standard output is closed", remedy="give it somewhere to go: > FILE")
    if arguments in (["--version"], ["-V"]):
        print(f"kvdoctor {__version__}")
        return FOUND
    from kvdoctor.command.output import make_safe

    make_safe()
    first = arguments[0] if arguments else ""
    if first not in COMMANDS and first not in ("-h", "--help", "-V", "--version"):
        if first and not first.startswith("-") and not exists(first):
            raise _no_such(first)
        told = any(one.partition("=")[0] in _OF_DIAGNOSE for one in arguments)
        arguments.insert(0, "diagnose" if told else "screen")
    return handle(_options(arguments))


def _options(arguments: list[str]) -> argparse.Namespace:
    from kvdoctor.command.quick import options_of

    quick = options_of(arguments)
    if quick is not None:
        return quick
    from kvdoctor.command.arguments import parser

    return parser(arguments[0]).parse_args(arguments)


def handle(options: argparse.Namespace) -> int:
    """Run the command that the options name, with the config file's values for what is left."""
    _refuse_contradictions(options)
    if options.command != "info":  # it tells what is wrong with the config file, and goes on
        from kvdoctor.settings import fill

        fill(options)
    if getattr(options, "ascii", False) and options.command != "screen":
        from kvdoctor.command.output import only_ascii

        only_ascii()
    handler = HANDLERS.get(options.command)
    if handler is None:
        from importlib import import_module

        handler = import_module(MODULES[options.command]).run
    status: int = handler(options)
    return status


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Two forms asked for at once, of which one would be dropped without a word. What a config file
    sets gives way and is no contradiction: it is not read yet."""
    if options.command == "diagnose" and options.json and options.note:
        raise InputError("--json and --note at once", remedy="leave one out, or run it twice")


def _no_such(name: str) -> InputError:
    from kvdoctor.errors import did_you_mean

    near = did_you_mean(name, [one for one in COMMANDS if one != "screen"])
    remedy = near.replace("mean ", "mean the command ") or "kvdoctor --help lists the commands"
    return InputError("no such file or command", file=name, remedy=remedy)


# -- commands -------------------------------------------------------------------------------------


def _screen(options: argparse.Namespace) -> int:
    from kvdoctor.terminal import can_show_a_screen

    if options.plain or not can_show_a_screen():
        if options.ascii:
            from kvdoctor.command.output import only_ascii

            only_ascii()
        return _dialogue(options)
    from kvdoctor.ui import run_screen

    return run_screen(options)


def _dialogue(options: argparse.Namespace) -> int:
    """The linear form: with a terminal it asks, without one it reports and never prompts."""
    from kvdoctor.command import dialogue

    knowledge = load_knowledge(options.knowledge)
    raw: list[tuple[str, str, bytes]] = []
    sources, unread = sources_of(options, knowledge, raw)
    answers = answers_of(options.sets)
    if not sources and (unread or not has_terminal_input()):
        raise InputError("nothing to read", remedy="give a FILE, or pipe a log into kvdoctor")
    code = dialogue.run(sources, knowledge, answers, raw, keep=not options.no_history)
    return USAGE if unread else code


def _diagnose(options: argparse.Namespace) -> int:
    from kvdoctor.report import read_sources, report, report_about

    knowledge = load_knowledge(options.knowledge)
    _files_taken_for_values(options)
    if options.symptom is not None:
        if options.files or options.prefill or options.decode:
            remedy = "leave one out: the tree asks for what no log shows"
            raise InputError("--symptom reads no log", remedy=remedy)
        return _symptom(options, knowledge)
    answers = answers_of(options.sets)
    record_id = record_named(options.record, knowledge) if options.record else None
    raw: list[tuple[str, str, bytes]] = []
    sources, unread = sources_of(options, knowledge, raw)
    if not sources and not record_id:
        raise InputError("nothing to read", remedy="give a FILE, or pipe a log into kvdoctor")
    together = bool(options.prefill or options.decode or getattr(options, "fetched", ()))
    together = together or record_id is not None
    batches = [sources] if together or not sources else [[source] for source in sources]
    readings = [read_sources(batch, knowledge) for batch in batches]
    shown = [
        report_about(read, knowledge, record_id, answers)
        if record_id
        else report(read, knowledge, answers=answers)
        for read in readings
    ]
    _complain(shown, answers, knowledge.sites.releases)
    for number, one in enumerate(shown):
        _print_report(options, one, knowledge, several=len(shown) > 1, first=number == 0)
    if options.save:
        from kvdoctor.command.saving import save_reports

        save_reports(shown, [raw] if together else [[one] for one in raw], record_id)
    if options.copy is not None:
        _copy_fix(options.copy, shown)
    return USAGE if unread else _worst([STATUS_CODES[one.status] for one in shown])


def _files_taken_for_values(options: argparse.Namespace) -> None:
    """``--copy decode.log``: the value is optional, and a file was meant."""
    for name in ("copy", "symptom"):
        value = getattr(options, name)
        if value and exists(value):
            options.files.insert(0, value)
            setattr(options, name, "")


def _worst(codes: Sequence[int]) -> int:
    """0 when any input had its cause found; else the most useful of the others."""
    for code in (FOUND, NEEDS_ANSWERS, USAGE):
        if code in codes:
            return code
    return NO_MATCH


def _complain(
    reports: Sequence[Report], answers: dict[str, object], releases: Sequence[str]
) -> None:
    """Answers that do not fit are an error the user must hear about, never silently dropped."""
    for shown in reports:
        if shown.facts is not None and shown.facts.rejected:
            name, complaint = shown.facts.rejected[0]
            raise InputError(f"--set {name}: {complaint}", remedy="correct the value")
    if answers:
        from kvdoctor.command.answers import complaints

        for text in complaints(reports, answers, releases):
            tell(text)


def _print_report(
    options: argparse.Namespace, shown: Report, knowledge: Knowledge, *, several: bool, first: bool
) -> None:
    if options.json:
        _print_json_report(shown, knowledge)
        return
    if several:
        from kvdoctor.terminal import clean

        name = clean(", ".join(source.paste.name for source in shown.sources)).replace("\n", " ")
        print(("" if first else "\n") + f"==> {name} <==")
    if options.note:
        from kvdoctor.show.note import incident_note

        print(incident_note(shown, knowledge, options.note, hide_hosts=options.hide_hosts))
        return
    from kvdoctor.show.plain import report_text
    from kvdoctor.terminal import wants_colour

    print(report_text(shown, knowledge, colour=wants_colour()))
    if getattr(options, "drawings", False):
        from kvdoctor.command.dialogue import draw

        draw(shown)


def _print_json_report(shown: Report, knowledge: Knowledge) -> None:
    from kvdoctor.show.document import document

    _print_json(document(shown, knowledge))


def _print_json(what: object) -> None:
    """One line of JSON; in ASCII alone where the locale has no more."""
    import json

    encoding = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "")
    print(json.dumps(what, ensure_ascii=encoding != "utf8"))


def _copy_fix(wanted: str, reports: Sequence[Report]) -> None:
    from kvdoctor.clipboard import copy

    offered = [one.fix for shown in reports for one in shown.fixes]
    names = ", ".join(dict.fromkeys(one.id for one in offered))
    fixes = [one for one in offered if not wanted or one.id == wanted]
    if wanted and not fixes:
        remedy = f"fixes: {names}" if names else "no fix is offered here"
        raise InputError(f"--copy {wanted}: no such fix", remedy=remedy)
    if not fixes:
        tell("nothing copied: no fix is offered here")
        return
    if fixes[0].proof.level == "unproven" and not wanted:
        raise InputError("the only fix is unproven", remedy=f"name it: --copy {fixes[0].id}")
    print(copy(fixes[0].snippet).told, file=sys.stderr)


def _explain(options: argparse.Namespace) -> int:
    from kvdoctor.show.explain import explanation, explanation_text

    knowledge = load_knowledge(options.knowledge)
    what = " ".join(options.what)
    found = explanation(what, knowledge)
    if found is None:
        hint = near_records(what, knowledge)
        tell(f"nothing known as {what!r} ({hint})")
        return NO_MATCH
    if options.json:
        _print_json(found)
    else:
        print(explanation_text(found))
    return FOUND


def _search(options: argparse.Namespace) -> int:
    knowledge = load_knowledge(options.knowledge)
    hits = knowledge.search(" ".join(options.words))
    if options.json:
        _print_json([{"record": hit.id, "title": hit.title} for hit in hits])
    else:
        for hit in hits:
            print(f"{hit.id:44} {hit.title}")
        if not hits:
            tell("no record speaks of these words")
    return FOUND if hits else NO_MATCH


def _info(options: argparse.Namespace) -> int:
    from kvdoctor.settings import fill
    from kvdoctor.show.explain import info, info_text

    problems: list[KvdoctorError] = []
    try:
        fill(options)
    except KvdoctorError as error:
        problems.append(error)
    found = info(load_knowledge(options.knowledge), problems)
    if options.json:
        _print_json(found)
    else:
        print(info_text(found))
    return FOUND


def _harvest(options: argparse.Namespace) -> int:
    from kvdoctor import harvest

    done = harvest.run(options.sources, options.out, say=lambda text: print(text, file=sys.stderr))
    print(f"{done['folder']}: {len(options.sources)} releases")
    return FOUND


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
    from pathlib import Path

    from kvdoctor.data import asdict
    from kvdoctor.importing import import_files
    from kvdoctor.load import load, private_folder

    folder = Path(options.out) if options.out else private_folder()
    done = import_files(options.files, folder, load(private=False).sites)
    if options.json:
        _print_json([asdict(one) for one in done])
    for one in done:
        if one.problem:
            tell(f"not imported: {one.problem}")
        elif not options.json:
            print(f"{one.record}: draft written to {one.written}")
    return USAGE if any(one.problem for one in done) else FOUND


HANDLERS: dict[str, Callable[[argparse.Namespace], int]] = {
    "diagnose": _diagnose,
    "explain": _explain,
    "search": _search,
    "lint": _lint,
    "new": _new,
    "harvest": _harvest,
    "import": _import,
    "info": _info,
    "screen": _screen,
}
COMMANDS = frozenset([*HANDLERS, *MODULES])
