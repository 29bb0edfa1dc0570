"""Makes the fixtures of further cases from the first: 10,000 cases take half a second so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Place
from gateval.formats.native.cases.filling import Filling, Tree, inside, replaced
from gateval.formats.native.cases.written import Template
from gateval.formats.native.kinds.assertion import COMMON_KEYS


class Made(NamedTuple):
    """A fixture, what it means by keys of `spec`, and how many characters that has."""

    fixture: Fixture
    written: JsonObject
    size: int


@dataclass(frozen=True)
class Options:
    """The options of one assertion that are filled in, and the model that checks them."""

    index: int
    raw: JsonObject
    tree: Tree
    model: type[BaseModel]


@dataclass(frozen=True)
class Quick:
    """All that the cases of a template share: its first fixture and what differs from that."""

    first: Made
    payload: Tree | int | None
    raw_payload: JsonValue
    options: tuple[Options, ...]

    def fixture(self, name: str, place: Place, values: list[JsonValue]) -> Made | None:
        """Return the fixture of one case, None if anything in it looks wrong."""
        first = self.first.fixture
        given, assertions = first.input, list(first.assertions)
        written = dict(self.first.written)
        if self.payload is not None:
            payload = replaced(self.raw_payload, self.payload, values)
            if not isinstance(payload, dict):
                return None
            given = given.model_copy(update={"payload": payload})
            written["input"] = {**_mapping(written["input"]), "payload": payload}
        asked = written["assertions"]
        meant = list(asked) if isinstance(asked, list) else []
        for one in self.options:
            options = replaced(one.raw, one.tree, values)
            try:
                one.model.model_validate_json(
                    to_json(options), strict=True, by_alias=True, by_name=False
                )
            except ValidationError:
                return None
            assertions[one.index] = assertions[one.index].model_copy(update={"options": options})
            meant[one.index] = {**_mapping(meant[one.index]), "options": options}
        written["assertions"] = meant
        text = canonical_json(
            {"kind": first.kind, "name": name, "labels": dict(first.labels), "spec": written}
        )
        fixture = first.model_copy(
            update={
                "name": name,
                "place": place,
                "input": given,
                "assertions": tuple(assertions),
                "digest": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            }
        )
        return Made(fixture, written, len(text))


def quick_of(
    template: Template, filling: Filling, first: Made, values: list[JsonValue]
) -> Quick | None:
    """Return how to make the other fixtures, None if each has to be read whole.

    `values` made the first one. The short way is taken only if it gives just that, too.
    """
    spec = _mapping(_mapping(template.source.body)["spec"])
    tree = inside(filling.tree, "spec")
    if not isinstance(tree, dict) or not tree.keys() <= {"input", "assertions"}:
        return None
    payload, options = tree.get("input"), _options(template, spec, tree.get("assertions"))
    if options is None or (isinstance(payload, dict) and payload.keys() != {"payload"}):
        return None
    if isinstance(payload, int):
        return None
    quick = Quick(
        first=first,
        payload=inside(payload, "payload"),
        raw_payload=_mapping(spec["input"]).get("payload"),
        options=options,
    )
    again = quick.fixture(first.fixture.name, first.fixture.place, values)
    return quick if again is not None and again.fixture == first.fixture else None


def _options(
    template: Template, spec: JsonObject, tree: Tree | int | None
) -> tuple[Options, ...] | None:
    if isinstance(tree, int):
        return None
    found: list[Options] = []
    raw = spec.get("assertions")
    models: Mapping[str, type[BaseModel]] = template.source.registries.assertions
    for index, inner in (tree or {}).items():
        written = _mapping(raw[int(index)]) if isinstance(raw, list) else {}
        kind = written.get("type")
        if (
            not isinstance(inner, dict)
            or not isinstance(kind, str)
            or inner.keys() & {*COMMON_KEYS}
        ):
            return None
        own = {key: value for key, value in written.items() if key not in COMMON_KEYS}
        found.append(Options(int(index), own, inner, models[kind]))
    return tuple(found)


def _mapping(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)  # noqa: S101 - the reader has seen that it is one
    return value
