"""What all manifests have in common as written: the envelope around `spec`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, JsonValue

from gateval.domain.base import Name, Spec, digest, empty
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.problems import Problem
from gateval.formats.base import Manifest, Pending, Source


class Metadata(Spec):
    """Who the manifest is. Namespace and annotations are left alone."""

    name: Name
    """The name others call it by; one per kind in the whole repository."""
    namespace: str | None = None
    """Left alone: within a repository, a name is taken once."""
    labels: dict[str, str] = empty()
    """What selectors look for."""
    annotations: dict[str, str] = empty()
    """Left alone."""


class OpenMetadata(Metadata):
    """Metadata of an Agent: other keys, which a cluster may know, are looked at later."""

    model_config = ConfigDict(extra="allow")


class Written(Spec):
    """A manifest as written. Each kind adds `kind`, its `metadata` if that differs, and `spec`."""

    api_version: Literal["gateval/v1", "pai.io/v1"]
    """Which generation of manifests this is; both are read alike."""
    metadata: Metadata


class ReadDocument(NamedTuple):
    """What reading one document gave: a manifest or None, and everything that is wrong.

    `fixtures` are those that it holds itself, as a benchmark its tasks. What other files complete
    is pending.
    """

    manifest: Manifest | Pending | None
    problems: tuple[Problem, ...]
    fixtures: tuple[Fixture, ...] = ()


class ManifestKind(NamedTuple):
    """A kind of manifest: its name, the model of what people write, and how it is read."""

    name: str
    written: type[Written]
    read: Callable[[Source], ReadDocument]


def meaning(kind: str, metadata: Metadata, spec: dict[str, JsonValue]) -> str:
    """Return the digest of what a manifest says: not its apiVersion, annotations or places.

    `spec` is canonical: defaults left out, whether written or not.
    """
    labels: JsonValue = dict(metadata.labels)
    return digest({"kind": kind, "name": metadata.name, "labels": labels, "spec": spec})


def canonical(spec: Spec) -> dict[str, JsonValue]:
    """Return what a part of a manifest says, with camelCase keys and without defaults."""
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def envelope(source: Source, written: Written) -> dict[str, Any]:
    """Return what every manifest says of itself, as fields of its value."""
    return {
        "name": written.metadata.name,
        "labels": written.metadata.labels,
        "place": source.document.place(("metadata", "name")),
        "path": source.path,
    }


KINDS: Final = {
    "Agent": "agent:AGENT",
    "Eval": "evaluation:EVAL",
    "EvalFixture": "fixture:FIXTURE",
    "JudgeCalibration": "evaluation:CALIBRATION",
    "Benchmark": "benchmark:BENCHMARK",
    "Experiment": "experiment:EXPERIMENT",
}
"""Where each kind is read, by the word that stands at `kind:`; loaded when there is one."""


@cache
def manifest_kind(name: str) -> ManifestKind:
    """Return the kind of this name. Raises KeyError for an unknown one."""
    module, _, constant = KINDS[name].partition(":")
    kind: ManifestKind = getattr(import_module(f"gateval.formats.native.{module}"), constant)
    return kind
