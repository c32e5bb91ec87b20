"""Published records (JSON, or the saved text of their page) as drafts of private records.

Facts are taken over: id, message, exception class, file and line. Prose is taken over too, but
marked as unverified, and never as a fix: what was not shown to satisfy vLLM's guard does not get
near the clipboard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvdoctor.data import dataclass
from kvdoctor.errors import ImportedRecordError

if TYPE_CHECKING:
    from kvdoctor.catalogue.sites import Sites

SCHEMA_VERSION = 2
LARGEST = 2_000_000  # bytes of one published record
NEEDED = ("id", "slug", "errorMessage")
UNVERIFIED = "unverified"
PAGE_HEADS = (
    "Error message",
    "What it means",
    "Source",
    "Solutions",
    "Example fix",
    "Defensive patterns",
    "When it happens",
    "Related errors",
    "Prevention",
    "Tags",
)
LONGEST_ID = 80
_CLASS = re.compile(r"[A-Za-z_][\w.]{0,200}")
_HOLE = re.compile(r"\{([^{}]*)\}")
_PAGE_ID = re.compile(r"/api/errors/([0-9a-f]{8,40})")
_THROWN = re.compile(r"Thrown at (\S+?):(\d+)")


@dataclass(frozen=True, slots=True)
class Published:
    """What a published record says, as far as we take it over."""

    id: str
    slug: str
    message: str
    exception: str
    file: str
    line: int
    function: str
    url: str
    meaning: str
    triggers: tuple[str, ...]
    advice: tuple[str, ...]
    tags: tuple[str, ...]
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    id: str
    text: str  # YAML


def read_published(data: bytes, file: str) -> Published:
    """The published record in ``data``. Raises ImportedRecordError naming file and field."""
    if len(data) > LARGEST:
        raise ImportedRecordError(f"larger than {LARGEST:,} bytes", file=file)
    text = data.decode("utf-8", errors="replace").lstrip("\ufeff").strip()
    if text.startswith(("{", "[")):
        return _from_json(text, file)
    return _from_page(text, file)


def _record_of(text: str, file: str) -> dict[str, Any]:
    """The record in the document, with all that is needed of it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise ImportedRecordError(
            f"broken JSON: {getattr(error, 'msg', 'nested too deeply')}",
            file=file,
            line=line,
            remedy="save the record again",
        ) from error
    record = document.get("record") if isinstance(document, dict) else None
    if not isinstance(record, dict):
        raise ImportedRecordError(
            "is missing",
            file=file,
            field="record",
            remedy='expected {"record": {…}, "datasetVersion": …}',
        )
    if record.get("schemaVersion") != SCHEMA_VERSION:
        raise ImportedRecordError(
            f"is {record.get('schemaVersion')!r}, this reads {SCHEMA_VERSION}",
            file=file,
            field="record.schemaVersion",
            remedy="convert the record or update kvdoctor",
        )
    for name in NEEDED:
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise ImportedRecordError("is missing or no text", file=file, field=f"record.{name}")
    return record


def _from_json(text: str, file: str) -> Published:
    record = _record_of(text, file)
    return Published(
        id=_text(record, "id", file),
        slug=_text(record, "slug", file),
        message=_text(record, "errorMessage", file),
        exception=_text(record, "errorClass", file),
        file=_text(record, "filePath", file),
        line=record["lineNumber"] if isinstance(record.get("lineNumber"), int) else 0,
        function=_function(_text(record, "sourceCode", file)),
        url=_text(record, "githubUrl", file),
        meaning=_text(record, "documentation", file),
        triggers=tuple(
            one
            for name in ("triggerScenarios", "commonSituations")
            if (one := _text(record, name, file))
        ),
        advice=(
            *_texts(record, "solutions", file),
            *_example(record, file),
            *_texts(record, "preventionTips", file),
        ),
        tags=_texts(record, "tags", file),
    )


def _text(record: Mapping[str, Any], name: str, file: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ImportedRecordError(
            f"is {type(value).__name__}, expected text", file=file, field=f"record.{name}"
        )
    return value.strip()


def _texts(record: Mapping[str, Any], name: str, file: str) -> tuple[str, ...]:
    value = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ImportedRecordError("is no list of texts", file=file, field=f"record.{name}")
    return tuple(one.strip() for one in value if one.strip())


def _example(record: Mapping[str, Any], file: str) -> tuple[str, ...]:
    text = _text(record, "exampleFix", file)
    return (f"example fix: {' / '.join(text.split(chr(10)))}",) if text else ()


def _function(source: str) -> str:
    """Name of the last function that the quoted source defines before its first raise."""
    before = source.partition("raise ")[0]
    names = re.findall(r"^\s*def (\w+)", before, re.MULTILINE)
    return names[-1] if names else ""


def _from_page(text: str, file: str) -> Published:
    """A page saved as text: known headings stand alone on a line."""
    parts: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped in PAGE_HEADS:
            current = stripped
            parts.setdefault(current, [])
        elif stripped:
            parts[current].append(stripped)
    message = " ".join(parts.get("Error message", []))
    if not message:
        raise ImportedRecordError(
            "is missing",
            file=file,
            field="Error message",
            remedy="this is neither the JSON form nor the saved text of a record's page",
        )
    found = _PAGE_ID.search(text)
    if not found:
        raise ImportedRecordError(
            "no record id on the page",
            file=file,
            field="/api/errors/ID",
            remedy="save the whole page",
        )
    head = parts[""][0].split("·") if parts[""] else []
    thrown = _THROWN.search(text)
    return Published(
        id=found.group(1),
        slug=_slug(message),
        message=message,
        exception=head[-1].strip() if len(head) > 1 else "",
        file=thrown.group(1) if thrown else "",
        line=int(thrown.group(2)) if thrown else 0,
        function="",
        url="",
        meaning=" ".join(parts.get("What it means", [])),
        triggers=tuple(parts.get("When it happens", [])),
        advice=tuple(re.sub(r"^\d+\.\s*", "", one) for one in parts.get("Solutions", [])),
        tags=(),
        related=tuple(
            one.lstrip("•- ").strip()
            for one in parts.get("Related errors", [])
            if one.startswith(("•", "-"))
        ),
    )


def _slug(message: str) -> str:
    """Lower-case words joined with hyphens, holes left out."""
    words = re.findall(r"[a-z0-9]+", _HOLE.sub(" ", message).lower())
    return "-".join(words)[:50].strip("-")


def template_of(message: str) -> str:
    """The message with readable hole names: ``{self.block_size}`` becomes ``{block_size}``; two
    different expressions of one name stay apart."""
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        expression = found.group(1).strip()
        if expression not in names:
            words = re.findall(r"[A-Za-z_]\w*", expression.partition(":")[0])
            base = words[-1] if words else "value"
            name = base
            if name in names.values():
                name = "_".join(words[-2:]) if len(words) > 1 else f"{base}_2"
            while name in names.values():
                name += "_2"
            names[expression] = name
        return "{" + names[expression] + "}"

    return _HOLE.sub(named, message)


def _example_log(published: Published, template: str) -> str:
    """The message as it would stand in a log, its holes filled with made-up numbers."""
    numbers = iter(range(1, 1000))
    filled = _HOLE.sub(lambda found: str(next(numbers)), template)
    named = _CLASS.fullmatch(published.exception)
    return f"{published.exception}: {filled}" if named else filled


def _raised_in(published: Published, sites: Sites | None) -> list[dict[str, str]]:
    """The place, when the function is known: from the quoted source, else from the catalogue."""
    function = published.function
    if not function and published.file and sites is not None:
        example = _HOLE.sub("1", template_of(published.message))
        hits = sites.by_message(example, published.exception)
        names = [one.function for one in hits if one.file == published.file and one.function]
        function = names[0].rpartition(".")[2] if names else ""
    if not function or not re.fullmatch(r"[^:\s]+", published.file):
        return []
    return [{"vllm": "", "raised_in": f"{published.file}:{function}"}]


def draft(published: Published, sites: Sites | None = None) -> Draft:
    """A private record of status draft that loads, identifies the error and offers no fix.

    ``sites``: vLLM's error sites, to name the function that the page does not name."""
    import yaml

    template = template_of(published.message)
    holes = list(dict.fromkeys(re.findall(r"\{(\w+)\}", template)))
    record_id = _record_id(published)
    identify: dict[str, Any] = {"message": template}
    if _CLASS.fullmatch(published.exception):
        identify["exception"] = published.exception
    body: dict[str, Any] = {
        "id": record_id,
        "title": _HOLE.sub("…", published.message)[:100],
        "status": "draft",
        "severity": "error",
        "kind": "raise",
        "owner": "vllm",
        "connectors": [],
        "tags": list(published.tags),
        "summary": _literal(
            f"Imported and unverified: {published.meaning or 'the page gives no explanation.'}"
        ),
        "seen_in": _raised_in(published, sites),
        "identify": [identify],
        "inputs": {name: _asked_in_message(name) for name in holes},
        "checks": [_unverified(published)],
        "fixes": {},
        "published": [_origin(published)],
        "examples": [
            {
                "name": "made from the published message, not from a log",
                "log": _example_log(published, template) + "\n",
                "expect": {"check": "unverified"},
            }
        ],
    }
    head = "# Draft made from a published record. Nothing here is verified.\n"
    return Draft(
        record_id, head + yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=96)
    )


def _asked_in_message(name: str) -> dict[str, str]:
    return {"type": "text", "ask": f"{name} in the message", "find": "the message of the error"}


def _unverified(published: Published) -> dict[str, Any]:
    """The one check of a draft: it proves nothing, and hands on what the page says of triggers."""
    triggers = "; ".join(f"unverified: {one}" for one in published.triggers)
    return {
        "id": "unverified",
        "when": "True",
        "cause": "No cause of this error has been verified yet.",
        "fixes": [],
        "next_step": _literal(triggers or "Read the guard."),
    }


def _origin(published: Published) -> dict[str, Any]:
    return {
        "id": published.id,
        "slug": published.slug,
        "url": published.url,
        "advice": [{"says": one, "verdict": UNVERIFIED} for one in published.advice],
    }


def _record_id(published: Published) -> str:
    """A name for the record and its file: the slug when it is one, else its words; what a page
    says never chooses a folder."""
    words = "-".join(re.findall(r"[a-z0-9]+", published.slug.lower()))[:LONGEST_ID].strip("-")
    if words:
        return words
    return "published-" + ("-".join(re.findall(r"[a-z0-9]+", published.id.lower()))[:40] or "page")


def _literal(text: str) -> str:
    """Braces of prose doubled, so that they are no holes."""
    return " ".join(text.replace("{", "{{").replace("}", "}}").split())


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of each file: the written draft, or why there is none."""

    file: str
    record: str = ""
    written: str = ""
    problem: str = ""


def import_files(
    files: Sequence[str], folder: Path, sites: Sites | None = None
) -> tuple[Imported, ...]:
    """Write a draft for every file that can be read; a bad file never stops the others."""
    done: list[Imported] = []
    for file in files:
        try:
            with open(file, "rb") as stream:  # noqa: PTH123
                data = stream.read(LARGEST + 1)
            made = draft(read_published(data, file), sites)
            target = folder / f"{made.id}.yaml"
            folder.mkdir(parents=True, exist_ok=True)
            if target.exists() and target.read_text(encoding="utf-8") != made.text:
                raise ImportedRecordError(
                    f"{target} exists and differs",
                    file=file,
                    remedy="move it away, or give --out another folder",
                )
            target.write_text(made.text, encoding="utf-8")
        except ImportedRecordError as error:
            done.append(Imported(file, problem=str(error)))
        except OSError as error:
            done.append(Imported(file, problem=f"{file}: {error.strerror or error}"))
        else:
            done.append(Imported(file, made.id, str(target)))
    return tuple(done)
