"""What `get` does: manifests and runs, put side by side, as a table, JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from gateval.adapters.screen import Screen, screen_of
from gateval.app.history.agreements import binding, known_agreements
from gateval.app.history.present import Here, look_here, statuses
from gateval.domain.history.calibrations import calibration_rows
from gateval.domain.history.runs.listing import agent_rows, fixture_rows
from gateval.domain.history.runs.rows import shown
from gateval.domain.manifests.evaluation import EvalKind
from gateval.domain.repository.place import nearest
from gateval.errors import EXIT_PASS, UsageError


def show(environ: Mapping[str, str], kind: str, name: str | None, *, form: str, fetch: bool) -> int:
    """Print all of a kind, or one of it. Raises `UsageError` for a name that is not there."""
    here = look_here(environ, fetch=fetch)
    found = _KINDS[kind](here, name)
    if name is not None:
        found = [row for row in found if row["name"] == name]
        if not found:
            raise _unknown(kind, name, here)
    if form in {"json", "yaml"}:
        _print_data(found[0] if name is not None else list(found), form)
        return EXIT_PASS
    screen = screen_of(sys.stdout, environ)
    _print_table(kind, found, name, screen, wide=form == "wide")
    return EXIT_PASS


def _evals(here: Here, name: str | None) -> list[dict[str, JsonValue]]:
    names = None if name is None else frozenset({name})
    return [shown(one) for one in statuses(here, names)]


def _of_kind(kind: EvalKind) -> Callable[[Here, str | None], list[dict[str, JsonValue]]]:
    def rows(here: Here, name: str | None) -> list[dict[str, JsonValue]]:
        evals = here.snapshot.catalogue.evals
        own = {one.name for one in evals if one.kind == kind and name in {None, one.name}}
        return [shown(one) for one in statuses(here, frozenset(own))]

    return rows


def _calibrations(here: Here, _: str | None) -> list[dict[str, JsonValue]]:
    measured = known_agreements(here.runs, here.snapshot)
    return calibration_rows(here.snapshot.catalogue, measured, binding(here.snapshot))


_KINDS: Mapping[str, Callable[[Here, str | None], list[dict[str, JsonValue]]]] = {
    "evals": _evals,
    "benchmarks": _of_kind("Benchmark"),
    "experiments": _of_kind("Experiment"),
    "agents": lambda here, _: agent_rows(here.snapshot.catalogue, statuses(here)),
    "fixtures": lambda here, _: fixture_rows(here.snapshot.catalogue, statuses(here)),
    "calibrations": _calibrations,
}


def _print_data(found: JsonValue, form: str) -> None:
    if form == "yaml":
        from gateval.formats.yaml.writer import write_yaml

        sys.stdout.write(write_yaml(found))
    else:
        print(json.dumps(found, indent=2))


def _print_table(
    kind: str,
    found: list[dict[str, JsonValue]],
    name: str | None,
    screen: Screen,
    *,
    wide: bool,
) -> None:
    from gateval.render.history.tables import render_one, render_rows

    width = screen.width if not wide else max(screen.width, 200)
    if name is not None:
        text = render_one(found[0], width=screen.width, color=screen.color)
    else:
        text = render_rows(kind, found, width=width, color=screen.color, wide=wide)
    sys.stdout.write(text)


def _unknown(kind: str, name: str, here: Here) -> UsageError:
    catalogue = here.snapshot.catalogue
    known = {
        "evals": [one.name for one in catalogue.evals],
        "benchmarks": [one.name for one in catalogue.evals if one.kind == "Benchmark"],
        "experiments": [one.name for one in catalogue.evals if one.kind == "Experiment"],
        "agents": [one.name for one in catalogue.agents],
        "fixtures": [one.name for one in catalogue.fixtures],
        "calibrations": [one.name for one in catalogue.calibrations],
    }[kind]
    noun = {"evals": "Eval", "agents": "Agent"}.get(kind, kind.removesuffix("s"))
    return UsageError(
        f'There is no {noun} "{name}" here.{nearest(name, known)}',
        hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
    )
