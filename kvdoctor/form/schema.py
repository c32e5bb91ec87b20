"""The form of records as JSON Schema, for editors: ``python -m kvdoctor.form.schema``.

An editor with a YAML language server then completes keys and marks mistakes while one types.
"""

from __future__ import annotations

import json
from typing import Any

from kvdoctor.form.fields import RECORD, Either, Kind, Leaf, Many, Shape, Table

_TYPES: dict[str, Any] = {
    "text": "string",
    "bool": "boolean",
    "int": "integer",
    "number": "number",
    "any": ["string", "number", "boolean", "null"],
    "expression": ["string", "number", "boolean"],
}
_HINTS = {
    "range": 'Release range, such as ">=0.25.1,<0.33.0"; empty for every release.',
    "expression": "Expression over the record's inputs.",
    "template": "Text with {holes} that name inputs.",
    "message": "Message as it stands in the log, with {holes} for its values.",
}


def schema_of(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of one kind of value."""
    if isinstance(kind, Leaf):
        return _leaf(kind)
    if isinstance(kind, Many):
        many = {"type": "array", "items": schema_of(kind.of)}
        return {"anyOf": [many, schema_of(kind.of)]} if kind.single else many
    if isinstance(kind, Table):
        table: dict[str, Any] = {"type": "object", "additionalProperties": schema_of(kind.of)}
        if kind.pattern:
            table["propertyNames"] = {"pattern": f"^(?:{kind.pattern})$"}
        return table
    if isinstance(kind, Either):
        options = [schema_of(one) for one in kind.options]
        return options[0] if len(options) == 1 else {"anyOf": options}
    return _shape(kind)


def _leaf(kind: Leaf) -> dict[str, Any]:
    found: dict[str, Any] = {"type": _TYPES[kind.kind]}
    if kind.choices:
        found["enum"] = list(kind.choices)
    if kind.pattern:
        found["pattern"] = f"^(?:{kind.pattern})$"
    if kind.means in _HINTS:
        found["description"] = _HINTS[kind.means]
    return found


def _shape(kind: Shape) -> dict[str, Any]:
    properties = {}
    for field in kind.fields:
        inside = schema_of(field.kind)
        hint = inside.get("description", "")
        inside["description"] = f"{field.doc[:1].upper()}{field.doc[1:]}. {hint}".strip()
        properties[field.name] = inside
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [field.name for field in kind.fields if field.required],
        "properties": properties,
    }


def record_schema() -> dict[str, Any]:
    """The JSON Schema of a record file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kvdoctor record",
        **schema_of(RECORD),
    }


if __name__ == "__main__":
    print(json.dumps(record_schema(), indent=2))
