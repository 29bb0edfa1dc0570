"""Models by which assertions measure likeness: part of the test, as a judge is.

A scripted one stands in a file, whose digest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER, ScriptedModel
from gateval.domain.manifests.fixture import AssertionSpec, Fixture

EMBEDDED, MODEL = "similar", "model"
"""The assertion that may ask a model for embeddings, and the option that names the model."""

_SCRIPTED = f"{SCRIPTED_PROVIDER}/"


def embedding_model(spec: AssertionSpec) -> str:
    """Return the model (`provider/model-id`) that an assertion itself asks; empty for none."""
    model = spec.options.get(MODEL) if spec.type == EMBEDDED else None
    return model if isinstance(model, str) else ""


def embedded(fixture: Fixture) -> Iterator[tuple[AssertionSpec, str]]:
    """Yield the assertions of a fixture that ask a model for embeddings, and that model."""
    for outer in fixture.assertions:
        if outer.type != EMBEDDED and not outer.parts:
            continue
        for spec in outer.within():
            if model := embedding_model(spec):
                yield spec, model


def embedding_models(fixtures: Iterable[Fixture]) -> dict[str, AssertionSpec]:
    """Return the models that assertions ask for embeddings, each with the first that does."""
    found: dict[str, AssertionSpec] = {}
    for fixture in fixtures:
        for spec, model in embedded(fixture):
            found.setdefault(model, spec)
    return found


def embedding_scripts(fixtures: Iterable[Fixture]) -> dict[str, AssertionSpec]:
    """Return the names of the scripted ones among them."""
    return {
        model.removeprefix(_SCRIPTED): spec
        for model, spec in embedding_models(fixtures).items()
        if model.startswith(_SCRIPTED)
    }


def with_scripts(catalogue: Catalogue, scripts: Mapping[str, ScriptedModel]) -> Catalogue:
    """Return the catalogue with the digests of the scripts that its fixtures are measured by."""

    def known(spec: AssertionSpec) -> AssertionSpec:
        script = scripts.get(embedding_model(spec).removeprefix(_SCRIPTED))
        return spec.replace(script=script.digest) if script else spec

    def filled(fixture: Fixture) -> Fixture:
        if not any(model.startswith(_SCRIPTED) for _, model in embedded(fixture)):
            return fixture
        found = _mapped(fixture, known)
        digests = [spec.script for spec, _ in embedded(found)]
        return found.replace(digest=digest([found.digest, *digests]))

    return replace(
        catalogue,
        fixtures=tuple(map(filled, catalogue.fixtures)),
        filled={
            name: {one: filled(fixture) for one, fixture in named.items()}
            for name, named in catalogue.filled.items()
        },
    )


def with_script_names(fixture: Fixture, names: Mapping[str, str]) -> Fixture:
    """Return the fixture with other names for the scripts that it is measured by."""

    def renamed(spec: AssertionSpec) -> AssertionSpec:
        name = embedding_model(spec).removeprefix(_SCRIPTED)
        if name not in names or not embedding_model(spec).startswith(_SCRIPTED):
            return spec
        options = {**spec.options, MODEL: f"{_SCRIPTED}{names[name]}"}
        return spec.replace(options=options)

    return _mapped(fixture, renamed) if names and any(embedded(fixture)) else fixture


def _mapped(fixture: Fixture, give: Callable[[AssertionSpec], AssertionSpec]) -> Fixture:
    def each(spec: AssertionSpec) -> AssertionSpec:
        inner = tuple(map(each, spec.parts))
        return give(spec.replace(parts=inner) if inner else spec)

    return fixture.replace(assertions=tuple(map(each, fixture.assertions)))
