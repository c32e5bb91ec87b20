"""Percolator queries for Elasticsearch and OpenSearch: a mapping and a body for _bulk.

A log line is percolated as ``{"message": "…"}``; each hit names the record. The words of the fixed
text must stand in their order (an intervals query over the analysed field), holes between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from kvdoctor.export.rules import Left, Rule

INDEX = "kvdoctor"
_WORD = re.compile(r"\w+")
_HOLE = re.compile(r"\.\*|\[-\+\]\?\[0-9\]\[0-9\.\]\*")


def render(rules: Sequence[Rule], left: Sequence[Left], options: dict[str, str]) -> dict[str, str]:
    """The index with its mapping, the queries for _bulk, and what could not be exported."""
    del options
    left_out = [{"record": one.record.id, "why": one.why} for one in left]
    return {
        "kvdoctor-index.json": json.dumps(_index(), indent=1) + "\n",
        "kvdoctor-bulk.ndjson": "".join(_rows(rules)),
        "kvdoctor-left-out.json": json.dumps(left_out, indent=1) + "\n",
    }


def _index() -> dict[str, object]:
    return {
        "mappings": {
            "properties": {
                "query": {"type": "percolator"},
                "message": {"type": "text", "analyzer": "kvdoctor"},
                "record": {"type": "keyword"},
                "severity": {"type": "keyword"},
                "title": {"type": "text", "index": False},
                "sure": {"type": "boolean"},
            }
        },
        "settings": {
            "analysis": {
                "tokenizer": {"words": {"type": "pattern", "pattern": r"\W+"}},
                "analyzer": {
                    "kvdoctor": {"type": "custom", "tokenizer": "words", "filter": ["lowercase"]}
                },
            }
        },
    }


def _rows(rules: Sequence[Rule]) -> list[str]:
    rows = []
    for rule in rules:
        action = {"index": {"_index": INDEX, "_id": rule.name}}
        document = {
            "query": query(rule),
            "record": rule.record.id,
            "severity": rule.record.severity,
            "title": rule.record.title,
            "sure": rule.sure,
        }
        rows += [json.dumps(action) + "\n", json.dumps(document, ensure_ascii=False) + "\n"]
    return rows


def query(rule: Rule) -> dict[str, object]:
    """Phrases of the fixed text in their order, with gaps where the message holds values."""
    intervals = [
        {"match": {"query": " ".join(words), "ordered": True, "max_gaps": 0}}
        for words in phrases(rule)
    ]
    return {"intervals": {"message": {"all_of": {"ordered": True, "intervals": intervals}}}}


def phrases(rule: Rule) -> list[list[str]]:
    """The words of each piece of fixed text between two holes, in lower case."""
    pieces = _HOLE.split(rule.regex)
    plain = [re.sub(r"\\s\+", " ", piece) for piece in pieces]
    found = [[w.lower() for w in _WORD.findall(re.sub(r"\\(.)", r"\1", one))] for one in plain]
    return [words for words in found if words]
