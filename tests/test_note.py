"""Notes leave the house: nothing in them breaks out of its format or tells more than asked."""

from __future__ import annotations

import re
from functools import partial

import pytest
from made_up import knowledge
from support import cpu_seconds

from kvdoctor.intake import read
from kvdoctor.load import load
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.hiding import Hider
from kvdoctor.show.note import FORMATS, _of_side, escaped, fenced, incident_note, inline, prose_of

KNOWN = knowledge()
HOSTILE = (
    "# head", "- item", "1. item", "2) item", "=====", "> quote", "<script>alert(1)</script>",
    "--> <img src=x>", "![x](http://evil)", "[x](javascript:y)", "**bold**", "@everyone @octocat",
    "a `code` b", "| a | b |", "~~~", "&lt;b&gt;", "http://evil.example/x", "#123",
)  # fmt: skip


def of(text: str) -> Report:
    paste = read(text, "x.log")
    return report(read_sources([Source(paste)], KNOWN), KNOWN)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_prose_shows_the_signs_and_obeys_none(text: str) -> None:
    shown = escaped(text)
    for sign in "`*_[]<>#|~@!":
        assert shown.count(f"\\{sign}") == shown.count(sign)
    assert "://" not in shown.replace("\\://", "")
    assert not shown.startswith(("-", "=", "1. ", "2) "))


def test_a_release_is_no_list() -> None:
    assert escaped("0.32.0 works") == "0.32.0 works"


@pytest.mark.parametrize("text", ["```\n# out", "````", "`" * 30, "a ` b", "``` ```` ```"])
def test_code_cannot_be_closed_from_inside(text: str) -> None:
    first, *_, last = fenced(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert first not in text
    assert inline("`x` ``y``").startswith("``` `x`")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "nasty",
    ["--> <b>", "```\n# out\n```", "<!channel> <@U1>", "@channel", "\x1b[31m", "*b* `c` <x|y>"],
)
def test_pasted_text_does_not_break_out(form: str, nasty: str) -> None:
    shown = of(f"ValueError: Widget size 3 does not divide 8 here {nasty}\nKeyError: {nasty}\n")
    note = incident_note(shown, KNOWN, form)
    assert "\x1b" not in note
    if form == "slack":
        assert "<" not in note
        assert note.count("```") % 2 == 0
    if form in ("markdown", "issue"):
        outside = _outside_code(note)
        comments = outside.count("<!-- ")
        assert outside.count("<") == outside.count("\\<") + comments


def _outside_code(note: str) -> str:
    """The lines of a Markdown text that stand in no fence, without inline code."""
    out: list[str] = []
    fence = ""
    for line in note.splitlines():
        ticks = line if line and set(line) == {"`"} and len(line) > 2 else ""
        if ticks and not fence:
            fence = ticks
        elif ticks == fence and fence:
            fence = ""
        elif not fence:
            out.append(re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line))
    return "\n".join(out)


def test_the_draft_of_an_issue_is_filled_in() -> None:
    note = incident_note(of("ValueError: Widget size 3 does not divide 8 here\n"), KNOWN, "issue")
    assert "ValueError: Widget size 3 does not divide 8 here" in note
    assert "remote_size = 8" in note
    assert "launch" in note.lower() or "To add" in note


def test_a_question_of_configuration_is_no_report_of_a_bug() -> None:
    note = incident_note(of("ValueError: Widget size 3 does not divide 8 here\n"), KNOWN, "issue")
    assert "a question of configuration" in note
    assert "# [Usage] ValueError" in note
    assert "draft of a report to" not in note
    unknown = of("RuntimeError: nobody knows this one\n")
    note = incident_note(unknown, KNOWN, "issue")
    assert "draft of a report to" in note
    assert "# [Bug] RuntimeError: nobody knows this one" in note


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("connect to 10.1.2.3:5600 and 10.1.2.3", "connect to IP-1:5600 and IP-1"),
        ("from fe80::1ff:fe23:4567:890a to ::1", "from IP-1 to ::1"),
        ("http://prefill-0.svc.cluster.local:8100/v1", "http://HOST-1:8100/v1"),
        ("tcp://decode-7:5557, decode-7:5558", "tcp://HOST-1:5557, HOST-1:5558"),
        ("VLLM_HOST=box17 vllm serve --host box17", "VLLM_HOST=HOST-1 vllm serve --host HOST-1"),
        ("gpu-node-3.corp.example.com is gone", "HOST-1 is gone"),
        ("on host box17 and on host gpu-a.", "on host HOST-1 and on host HOST-2."),
        ("Host: bertha is down", "Host: HOST-1 is down"),
        ("vllm serve --host bertha", "vllm serve --host HOST-1"),
        ("remote_host and remote_port of the request", None),
        ("localhost when it is not set, one host with the same port", None),
        ("--host is missing; see https://github.com/vllm-project/vllm", None),
        ("bound to 127.0.0.1 and 0.0.0.0:8000 on localhost:9", None),
        ("vLLM 0.32.0 at vllm/v1/engine/core.py:1512 in run", None),
        ("[base_worker.py:1318] torch 2.8.0+cu128 12:30:45", None),
        ("local_block_size = 32   line 125 (in the message)", None),
    ],
)
def test_hosts_become_tokens_and_nothing_else_does(text: str, hidden: str | None) -> None:
    assert Hider().hide(text) == (text if hidden is None else hidden)


def test_no_record_says_a_word_that_is_taken_for_a_host() -> None:
    for record in load(private=False).records.values():
        prose = prose_of(record)
        hider = Hider(prose=prose)
        for text in prose:
            # Addresses are hidden wherever they stand: ours could be the user's too.
            assert "HOST-" not in hider.hide(text), record.id


def test_the_same_pod_is_the_same_token_everywhere() -> None:
    hider = Hider({"decode-7f9c", "decode-7f9c-x2"})
    assert hider.hide("decode-7f9c-x2 asked decode-7f9c") == "POD-1 asked POD-2"
    assert hider.hide("decode-7f9c") == "POD-2"


def test_hiding_takes_linear_time() -> None:
    took = []
    for size in (20_000, 80_000):
        text = "a." * size + "1." * size + ":" * size + "x-" * size
        took.append(cpu_seconds(partial(Hider().hide, text)))
    assert took[1] < 10 * took[0] + 0.2


UNDECIDED = "ValueError: Widget size 3 does not divide 8 here\n"


@pytest.mark.parametrize("form", ["markdown", "slack", "issue"])
def test_the_note_of_an_undecided_case_lists_the_open_questions(form: str) -> None:
    note = incident_note(of(UNDECIDED), KNOWN, form)
    assert "open questions" in note
    assert "strict mode?" in note
    assert "Fix:" not in note


def test_a_fix_of_the_only_side_in_question_names_no_side() -> None:
    assert _of_side("this") == ""
    assert _of_side("decode") == " (decode)"


def test_a_slack_note_is_pasted_by_hand_and_holds_no_entities() -> None:
    note = incident_note(of("KeyError: 3 >= 2 & 1 < 2 <!here>\n"), KNOWN, "slack")
    assert "3 >= 2 & 1 < 2 ‹!here>" in note
    assert "&gt;" not in note
