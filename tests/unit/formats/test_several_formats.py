"""Several formats beside each other: what one passes over another reads, and each gathers its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateval.domain.problems import Problem, SourceLocation
from gateval.formats.base import Gathered, GatheringContext, Parsed, Pending, Registries
from gateval.formats.registry import FORMATS, NATIVE, ManifestFormat, formats_of, gather, read_file
from tests.helpers.agentv import agentv, problems, read
from tests.helpers.experiments import manifest
from tests.helpers.manifests import REGISTRIES

SUITE = "evalcases:\n  - {id: one, expected_outcome: Good, input: Hello}\n"
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: evals.a}
spec: {targetAgent: default, fixtures: [evals.a]}
"""


def other(name: str) -> ManifestFormat:
    """A format that puts its files together: each tells which it was given."""

    def parsed(path: str, data: bytes, registries: Registries) -> Parsed:
        del registries
        ours = name.encode() in data
        return Parsed((), (), pending=(Pending(path, None),) if ours else ())

    def told(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
        del around
        said = [Problem(place=SourceLocation(file=one.path), message=name) for one in pending]
        return Gathered(problems=tuple(said), own=frozenset(one.path for one in pending))

    return ManifestFormat(
        name=name,
        suffixes=(".yaml",),
        recognises=lambda _path, _data: True,
        may_hold_agent=lambda _data: True,
        may_name_files=lambda _data: True,
        read=parsed,
        gather=told,
    )


def test_each_format_gathers_its_own_files() -> None:
    known = (NATIVE, other("alpha"), other("beta"))
    files = {"a.yaml": b"alpha", "b.yaml": b"beta", "c.yaml": b"alpha", "d.yaml": b"neither"}
    found = {
        path: read_file(path, data, REGISTRIES, formats_of(path, data, known))
        for path, data in files.items()
    }
    pending = [one for each in found.values() if each for one in each.pending]
    together = gather(pending, GatheringContext({}, lambda _path: None, REGISTRIES), known)
    assert [(one.place.file, one.message) for one in together.problems] == [
        ("a.yaml", "alpha"),
        ("c.yaml", "alpha"),
        ("b.yaml", "beta"),
    ]
    assert together.own == {"a.yaml", "b.yaml", "c.yaml"}


def test_every_format_with_files_to_be_put_together_puts_them_together() -> None:
    texts = {"agentv": SUITE, "native": manifest(), "sealed": "", "definitions": ""}
    for each in FORMATS:
        read_ = each.read("a.eval.yaml", texts[each.name].encode(), REGISTRIES)
        assert bool(each.gather) == bool(read_.pending)


def test_a_suite_that_mentions_native_manifests_is_read(tmp_path: Path) -> None:
    text = f"# Beside our Evals, which are of gateval/v1.\n{SUITE}"
    snapshot = read(agentv(tmp_path / "repo", {"evals/a.yaml": text}))
    assert [one.name for one in snapshot.catalogue.evals] == ["evals.a"]


def test_a_suite_behind_a_native_manifest_is_told(tmp_path: Path) -> None:
    said = problems(agentv(tmp_path / "repo", {"evals/a.yaml": f"{EVAL}---\n{SUITE}"}))
    assert any("Only one document may stand in this file." in one for one in said), said
