"""Builds example messages from the official ACP schema, and validates messages against it."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema_rs

Schema: TypeAlias = dict[str, Any]

PACKAGE = Path(__file__).parents[1] / "peers/node_modules/@agentclientprotocol/sdk"
SCHEMA = PACKAGE / "schema/v1/schema.unstable.json"
DEFINITIONS: dict[str, Schema] = json.loads(SCHEMA.read_text())["$defs"]
SCALARS = {"string": "some text", "integer": 7, "number": 1.5, "boolean": True}


@cache
def validator(definition: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{definition}", "$defs": DEFINITIONS})


def examples(schema: Schema, *, full: bool) -> list[Any]:
    """At least one value for each alternative of the schema; a full one has every optional property."""
    if "$ref" in schema:
        return examples(DEFINITIONS[schema["$ref"].rpartition("/")[2]], full=full)
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "object" and "properties" in schema:
        return [dict(found) for found in _objects(schema, full)]
    parts = schema.get("allOf") or schema.get("anyOf") or schema.get("oneOf")
    if parts:
        return [found for part in parts if part.get("type") != "null" for found in examples(part, full=full)]
    kinds = schema.get("type", "any")
    kind = kinds if isinstance(kinds, str) else next(kind for kind in kinds if kind != "null")
    if kind == "array":
        return [examples(schema["items"], full=full) if full else []]
    if kind in ("object", "any"):
        values = schema.get("additionalProperties", kind == "any")
        found = examples(values, full=full) if isinstance(values, dict) else ["value"]
        return [{"key": value} for value in found] if values else [{}]
    return ["file:///a/path"] if schema.get("format") == "uri" else [SCALARS[kind]]


def _objects(schema: Schema, full: bool) -> Iterator[Schema]:
    required = schema.get("required", ())
    choices = {
        name: examples(found, full=full)
        for name, found in schema["properties"].items()
        if (full or name in required) and found.get("type") != "null"
    }
    alternatives = schema.get("anyOf") or schema.get("oneOf") or [{}]
    groups = [[part] for part in schema.get("allOf", ())] + [alternatives]
    for combination in product(*groups):
        inherited = [examples(part, full=full) for part in combination if part]
        for rest in product(*inherited):
            for turn in range(max(map(len, choices.values()), default=1)):
                own = {name: found[turn % len(found)] for name, found in choices.items()}
                yield {key: value for part in (own, *rest) for key, value in part.items()}
