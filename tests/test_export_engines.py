"""The exported rules in the engines that run them, where they are installed: Vector's VRL
(``pip install vrl-python``), and Lucene 8, whose interval queries Elasticsearch's percolator runs
(Debian: ``liblucene8-java`` and a JDK)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzz.pipeline import shipped

from kvdoctor.export import elasticsearch, vector
from kvdoctor.export.rules import Rule, rules

HERE = Path(__file__).parent
CASES = HERE / "cases"
HEALTHY = ("050-nixl-healthy", "121-healthy-debug", "123-healthy-no-connector")
JARS = Path(os.environ.get("KVDOCTOR_LUCENE", "/usr/share/java"))
PARTS = ("core", "queries", "memory", "analyzers-common")


@cache
def exported() -> list[Rule]:
    return rules(shipped())[0]


def lines_of(case: str) -> list[str]:
    """The lines of a case that differ by more than their numbers of time and process."""
    logs = [*(CASES / case).glob("*.log"), *(CASES / case).glob("log.txt")]
    texts = [one.read_text("utf-8", "replace") for one in logs]
    return list(dict.fromkeys(line for text in texts for line in text.splitlines()))


def expected() -> dict[str, str]:
    """Case -> the record that its real log shows, for records that a line can tell."""
    known = {rule.record.id for rule in exported()}
    told = {
        file.parent.name: str(yaml.safe_load(file.read_text("utf-8")).get("record") or "")
        for file in sorted(CASES.glob("*/expect.yaml"))
    }
    return {case: record for case, record in told.items() if record in known}


def loud(records: set[str]) -> set[str]:
    return {one for one in records if shipped().records[one].severity == "error"}


# -- Vector -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remap() -> Any:
    vrl = pytest.importorskip("vrl_python", reason="vrl-python is not installed")
    text = vector.render(exported(), [], {})[vector.FILE]
    source = yaml.safe_load(text)["transforms"]["kvdoctor"]["source"]
    runtime = vrl.VRLRuntime()
    begun = time.process_time()
    runtime.compile(source)
    assert time.process_time() - begun < 5  # one long "else if" took its square

    def run(line: object) -> dict[str, Any]:
        event: dict[str, Any] = runtime.execute(source, {"message": line}).processed_event
        return event

    return run


def test_vectors_own_language_marks_the_real_failures(remap: Any) -> None:
    for case, record in expected().items():
        own = [rule.literal for rule in exported() if rule.record.id == record]
        lines = [line for line in lines_of(case) if any(one in line for one in own)]
        marks = [remap(line).get("kvdoctor", {}) for line in lines]
        marked = {one for mark in marks for one in (mark.get("record"), *mark.get("or", ()))}
        assert record in marked, case


def test_vectors_own_language_is_silent_on_healthy_logs(remap: Any) -> None:
    for case in HEALTHY:
        events = [remap(line) for line in lines_of(case)]
        assert not loud({one["kvdoctor"]["record"] for one in events if "kvdoctor" in one}), case


def test_an_event_without_text_passes_through_vector(remap: Any) -> None:
    assert remap(17) == {"message": 17}


# -- Lucene -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hits() -> dict[str, set[str]]:
    """Case -> the records whose percolator queries match one of its lines."""
    jars = [jar for part in PARTS for jar in sorted(JARS.glob(f"lucene-{part}-8*.jar"))[:1]]
    if len(jars) < len(PARTS) or shutil.which("javac") is None:
        pytest.skip("needs Lucene 8's jars and a JDK")
    files = elasticsearch.render(exported(), [], {})
    analysis = json.loads(files["kvdoctor-index.json"])["settings"]["analysis"]
    pattern = analysis["tokenizer"]["words"]["pattern"]
    documents = [json.loads(line) for line in files["kvdoctor-bulk.ndjson"].splitlines()]
    rows = []
    for action, document in zip(documents[::2], documents[1::2], strict=True):
        query = document["query"]["intervals"]["message"]["all_of"]
        phrases = [one["match"] for one in query["intervals"]]
        assert query["ordered"]
        assert all(one["ordered"] and one["max_gaps"] == 0 for one in phrases)
        words = [one["query"] for one in phrases]
        rows.append("\t".join(["Q", action["index"]["_id"], *words]))
    for case in [*expected(), *HEALTHY]:
        rows += ["\t".join(["L", case, one.replace("\t", " ")]) for one in lines_of(case)]
    command = ["java", f"-Dpattern={pattern}", "-cp", os.pathsep.join(map(str, jars))]
    done = subprocess.run(
        [*command, str(HERE / "exports" / "percolate.java")],
        input="\n".join(rows) + "\n", capture_output=True, encoding="utf-8", check=False,
        timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {rule.name: rule.record.id for rule in exported()}
    found: dict[str, set[str]] = {}
    for row in done.stdout.splitlines():
        case, name = row.split("\t")
        found.setdefault(case, set()).add(names[name])
    return found


def test_lucene_matches_the_queries_of_the_real_failures(hits: dict[str, set[str]]) -> None:
    missed = {case for case, record in expected().items() if record not in hits.get(case, set())}
    assert not missed


def test_lucene_matches_no_query_of_an_error_on_a_healthy_log(hits: dict[str, set[str]]) -> None:
    assert not {
        case: loud(hits.get(case, set())) for case in HEALTHY if loud(hits.get(case, set()))
    }
