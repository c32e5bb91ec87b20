"""The contract with programs: every field is there, whatever was found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_up import knowledge

from kvdoctor.intake import read
from kvdoctor.report import Source, read_sources, report
from kvdoctor.show.document import SCHEMA_VERSION, document

KNOWN = knowledge()
LOG = "ValueError: Widget size 3 does not divide 8 here\n"
TOP = {
    "schema_version", "kvdoctor", "input", "vllm", "findings", "values", "diagnosis", "fixes",
    "next", "related",
}  # fmt: skip
FINDING = {
    "record", "title", "exception", "message", "template", "kind", "owner", "role", "confidence",
    "site", "evidence", "process", "count",
}  # fmt: skip
FIX = {"id", "title", "snippet", "sets", "changes", "side", "proof"}


def of(*texts: str, sides: tuple[str, ...] = ("this", "this"), **answers: object) -> dict[str, Any]:
    sources = [
        Source(read(text, f"{number}.log"), sides[number]) for number, text in enumerate(texts)
    ]
    shown = report(read_sources(sources, KNOWN), KNOWN, answers=answers)
    return json.loads(json.dumps(document(shown), allow_nan=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", ["", "all is well\n", LOG, "KeyError: x\n"])
def test_every_field_is_there_whatever_was_found(text: str) -> None:
    told = of(text)
    assert set(told) >= TOP
    assert told["schema_version"] == SCHEMA_VERSION
    assert set(told["input"]) >= {"name", "lines", "bytes"}
    assert set(told["vllm"]) >= {"release", "candidates", "how"}
    assert set(told["diagnosis"]) >= {"status", "check", "cause", "asks"}
    assert all(set(one) >= FINDING for one in told["findings"])


def test_a_healthy_log_has_no_finding() -> None:
    told = of("INFO all is well\n")
    assert told["findings"] == []
    assert told["diagnosis"]["status"] == "no_match"


def test_open_questions_are_named_and_described() -> None:
    told = of(LOG)
    assert told["diagnosis"]["status"] == "asks"
    assert told["diagnosis"]["asks"] == ["strict"]
    (question,) = told["diagnosis"]["questions"]
    assert (question["type"], question["usual"]) == ("bool", True)
    assert told["fixes"] == []


def test_a_cause_comes_with_its_check_values_and_fixes() -> None:
    told = of(LOG, strict=True, vllm_release="0.32.0")
    assert told["diagnosis"]["check"] == "strict-mode"
    assert told["diagnosis"]["cause"] == "8 leaves 2."
    assert all(set(one) >= FIX for one in told["fixes"])
    assert {one["id"] for one in told["fixes"]} == {"equal", "nearest", "useless"}
    assert [one["id"] for one in told["not_offered"]] == ["later"]
    local, strict = told["values"]["local_size"], told["values"]["strict"]
    assert (local["value"], local["from"], local["line"]) == (3, "message", 1)
    assert (strict["value"], strict["from"], strict["line"]) == (True, "answer", None)


def test_the_first_finding_is_the_root_cause_and_proves_itself_by_lines() -> None:
    first, *others = of(f"INFO x\n{LOG}\nKeyError: No widget of size 7 was ever found\n")[
        "findings"
    ]
    assert first["role"] == "root_cause"
    assert first["evidence"][0] == {"line": 2, "text": LOG.strip(), "source": "0.log"}
    assert [one["role"] for one in others] == ["consequence"]


def test_two_sides_are_one_document() -> None:
    told = of(LOG, "vllm serve m --block-size 16\n", sides=("decode", "prefill"))
    assert told["input"]["sides"] == {"0.log": "decode", "1.log": "prefill"}
    assert told["values"]["prefill.block_size"]["value"] == 16


def test_a_document_is_one_line_of_json() -> None:
    hostile = LOG + "ValueError: x\x1b]52;c;eA==\x07\u2028\x85 y\n"
    shown = report(read_sources([Source(read(hostile))], KNOWN), KNOWN)
    line = json.dumps(document(shown), ensure_ascii=False)
    assert len(line.splitlines()) == 1
