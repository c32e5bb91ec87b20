"""One text through every stage, with what must hold of everything that comes out."""

from __future__ import annotations

import json
import time
from functools import cache

from kvdoctor.intake import read
from kvdoctor.intake.paste import Paste
from kvdoctor.knowledge import Knowledge
from kvdoctor.load import load
from kvdoctor.report import Report, Source, read_sources, report
from kvdoctor.show.document import document
from kvdoctor.show.note import FORMATS, incident_note
from kvdoctor.show.plain import report_text

SECONDS_FOR_EACH_MB = 1.0
SECONDS_FOR_ANY = 1.0  # what a report costs on top, on a busy machine
ACTED_ON = frozenset(chr(code) for code in (*range(32), *range(0x7F, 0xA0))) - {"\n", "\t"}


@cache
def shipped() -> Knowledge:
    return load(private=False)


def check(
    data: bytes, knowledge: Knowledge | None = None, *, name: str = "-", limit: bool = True
) -> Report:
    """Diagnose ``data``; AssertionError when something comes out that must not, or too late."""
    known = knowledge or shipped()
    started = time.process_time()
    paste = read(data, name, knowledge=known.reading)
    found = read_sources([Source(paste)], known)
    shown = report(found, known)
    spent = time.process_time() - started
    allowed = SECONDS_FOR_ANY + SECONDS_FOR_EACH_MB * len(data) / 1e6
    assert not limit or spent < allowed, f"{spent:.2f} s for {len(data):,} bytes"
    for number in range(1, min(3, len(found.findings))):
        written(report(found, known, chosen=number), known)
    written(shown, known)
    return shown


def written(shown: Report, knowledge: Knowledge) -> None:
    """Every form of the report: encodable, one line where promised, nothing a terminal acts on."""
    line = json.dumps(document(shown), ensure_ascii=False, allow_nan=False)
    assert "\n" not in line
    assert json.loads(line)["schema_version"] == 1
    texts = [report_text(shown, knowledge)]
    texts += [incident_note(shown, knowledge, form, hide_hosts=True) for form in FORMATS]
    for text in texts:
        text.encode()
        assert not ACTED_ON & set(text), sorted(ACTED_ON & set(text))
    for fix in shown.fixes:
        assert "{" not in fix.fix.snippet or "}" in fix.fix.snippet
    for finding in shown.findings:
        assert 0.0 <= finding.confidence <= 1.0
        lines = {one.paste.name: _last(one.paste) for one in shown.sources}
        assert all(1 <= one.number <= lines[one.source] for one in finding.evidence)


def _last(paste: Paste) -> int:
    """The number of the last line: rows that a terminal broke are one line, under its first."""
    return max((line.number for line in paste.lines), default=1)
