"""The same log as many shippers and tools hand it out says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kvdoctor.intake import read
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.scan import scan_file

LOG = Path(__file__).with_name("cases") / "061-nixl-blocksize-d-smaller" / "decode.log"
PLAIN = "\n".join(LOG.read_text("utf-8").rstrip("\n").split("\n")[-120:])
TIME = "2026-11-30T19:57:30.%09dZ"
PART = 60  # characters at which a runtime cuts here

Form = Callable[[str, int], str]


@lru_cache(maxsize=1)
def shipped() -> Knowledge:
    return load(private=False)


def row(**keys: Any) -> str:
    return json.dumps(keys)


def parts(line: str, made: Callable[[str, bool], str]) -> str:
    """A line as its parts, each in a row of its own; ``made`` is told which one is the last."""
    cut = [line[at : at + PART] for at in range(0, len(line), PART)] or [""]
    return "\n".join(made(part, at + 1 == len(cut)) for at, part in enumerate(cut))


RUNTIMES: dict[str, Form] = {
    "docker": lambda line, at: row(log=line + "\n", stream="stderr", time=TIME % at),
    "docker, cut": lambda line, at: parts(
        line, lambda part, last: row(log=part + "\n" * last, stream="stderr", time=TIME % at)
    ),
    "fluent-bit of CRI": lambda line, at: row(
        time=TIME % at, stream="stderr", logtag="F", log=line, kubernetes={"pod_name": "d-0"}
    ),
    "fluent-bit of CRI, cut": lambda line, at: parts(
        line, lambda part, last: row(time=TIME % at, logtag="F" if last else "P", log=part)
    ),
    "fluent-bit, own key, cut": lambda line, _: parts(
        line, lambda part, last: row(_p="F" if last else "P", log=part, stream="stderr")
    ),
    "fluent-bit without a tag": lambda line, _: row(stream="stderr", log=line),
    "fluentd, cut": lambda line, at: parts(
        line,
        lambda part, last: row(
            log=part, partial_message="true", partial_id=str(at), partial_last=str(last).lower()
        ),
    ),
    "journal, cut": lambda line, _: parts(
        line,
        lambda part, last: row(
            MESSAGE=part, **({} if last else {"CONTAINER_PARTIAL_MESSAGE": "true"})
        ),
    ),
    "vector": lambda line, at: row(
        file="/var/log/pods/a/0.log", message=line, stream="stderr", timestamp=TIME % at
    ),
    "vector, cut": lambda line, at: parts(
        line,
        lambda part, last: row(
            message=part, timestamp=TIME % at, **({} if last else {"_partial": True})
        ),
    ),
    "Grafana": lambda line, at: row(
        line=line, timestamp=str(10**18 + at), date=TIME % at, fields={"pod": "d-0"}
    ),
    "Loki": lambda line, at: row(labels={"pod": "d-0"}, line=line, timestamp=TIME % at),
    "CloudWatch": lambda line, at: row(timestamp=1764532650123 + at, message=line),
    "GCP": lambda line, at: row(severity="ERROR", textPayload=line, timestamp=TIME % at),
    "GCP, object": lambda line, at: row(jsonPayload={"message": line}, timestamp=TIME % at),
    "Datadog": lambda line, _: row(attributes={"host": "x", "message": line, "status": "error"}),
    "Datadog, list": lambda line, at: row(content={"timestamp": TIME % at, "message": line}),
}


def wrapped(form: Form, text: str = PLAIN) -> str:
    return "".join(form(line, at) + "\n" for at, line in enumerate(text.split("\n")))


def said(text: str) -> list[tuple[str, str, int, int]]:
    failures = read(text).failures
    return [(one.exception, one.message, len(one.frames), one.log_line) for one in failures]


def scanned(text: str, folder: Path) -> list[tuple[str, str]]:
    log = folder / "one.log"
    log.write_text(text, "utf-8")
    return sorted(
        (one.record or one.message, one.role) for one in scan_file(str(log), shipped()).rows
    )


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_log_in_a_shippers_json_says_what_the_plain_one_does(name: str, tmp_path: Path) -> None:
    text = wrapped(RUNTIMES[name])
    assert len(said(PLAIN)) > 1
    assert said(text) == said(PLAIN)
    assert scanned(text, tmp_path) == scanned(PLAIN, tmp_path)


def test_one_line_without_an_end_does_not_swallow_the_others() -> None:
    """Whether a missing line end means anything is told by the other lines."""
    rows = [row(log=f"line {at}", stream="stdout") for at in range(40)]
    rows[7] = row(log="one that was printed with its end\n", stream="stdout")
    texts = [line.text for line in read("\n".join(rows)).lines]
    assert len(texts) == 40


TOOLS: dict[str, Form] = {
    "Grafana's text": lambda line, at: f"2026-11-30 19:57:30.{at % 1000:03}\t{line}",
    "Loki's text": lambda line, at: f"2026-11-30T19:57:30.{at % 1000:03}Z\t{line}",
    "grep -Hn": lambda line, at: f"logs/decode.log:{at + 1}:{line}",
    "grep -H": lambda line, _: f"decode.log:{line}",
    "grep -n": lambda line, at: f"{3 * at + 1}:{line}",
    "grep -C": lambda line, at: f"a.log:{at}:{line}" if "rror" in line else f"a.log-{at}-{line}",
    "torchrun": lambda line, _: f"[default1]:{line}",
}


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_behind_a_tools_prefix_says_what_the_plain_one_does(
    name: str, tmp_path: Path
) -> None:
    text = wrapped(TOOLS[name])
    assert said(text) == said(PLAIN)
    assert scanned(text, tmp_path) == scanned(PLAIN, tmp_path)


@pytest.mark.parametrize("name", TOOLS)
def test_a_native_records_head_is_read_behind_a_tools_prefix(name: str) -> None:
    rows = [f"W1130 20:07:4{at}.601651 29819 topology.cpp:20{at}] no device" for at in range(6)]
    lines = read(wrapped(TOOLS[name], "\n".join(rows))).lines
    assert [(line.log_file, line.text) for line in lines] == [("topology.cpp", "no device")] * 6


def test_indentation_behind_a_timestamps_tab_stays() -> None:
    (line,) = read("2026-11-30T19:57:30.001Z\t    raise it").lines
    assert line.text == "    raise it"
