"""Stored runs: made by really running the gate, read by every command that reads results."""

from __future__ import annotations

import difflib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from tests.oracle.cases import CASES, Case
from tests.oracle.sides import Json, Side

T = TypeVar("T")
HERE = Path(__file__).parent
KEPT, GOLDENS = HERE / "stored", HERE / "goldens" / "runs"
QUICK = 10
FOLDER = "shop"
_LONG, _HEAD = 12_000, 3_000
_RUN = "20261120-0930{:02}-{:04x}"
_VIEWS = ("summary", "markdown", "junit", "sarif", "json")
_KINDS = ("agents", "fixtures", "calibrations")
_SHOWN = 2


def make(side: Side, names: Sequence[str]) -> None:
    """Make the stored runs of these cases anew, all without names."""
    KEPT.mkdir(exist_ok=True)
    for case in CASES:
        if not names or case.name in names:
            with place_for() as place:
                print(case.name, *_made(side, case, place / FOLDER))
                _pack(place, KEPT / f"{case.name}.tar.xz")


def _made(side: Side, case: Case, path: Path) -> list[str]:
    repo = case.make(path, side)
    env = {**repo.env, "HOME": str(path.parent), "TMPDIR": str(path.parent), **case.env}
    ended = []
    for number, words in enumerate(case.runs):
        results = f".gateval/results/{_RUN.format(number, number)}"
        asked = {"command": [*words, "--results", results], "folder": str(path), "env": env}
        done = side.one(asked)
        ended.append(f"{words[0]} {done['code']}")
        if done["code"] not in {0, 1, 3}:
            raise RuntimeError(f"{case.name}: {done['err']}{done['out']}")
    if case.after is not None:
        case.after(path)
    return ended


def commands(path: Path) -> Iterator[list[str]]:
    """Yield the commands that read what lies in a repository."""
    runs = sorted(one.name for one in (path / ".gateval/results").glob("2*"))
    last = f".gateval/results/{runs[-1]}"
    evals, fixtures = _named(path / last)
    for run in runs[:-1]:
        yield ["report", f".gateval/results/{run}"]
        yield ["compare", run, runs[-1]]
    yield from (["report", last, "--format", view] for view in _VIEWS)
    yield ["show", runs[-1]]
    for number, name in enumerate(fixtures[:_SHOWN]):
        yield ["show", runs[-1], name, *(["--full", "--repetition", "1"] if number else [])]
    if (path / last / "results.v1.json.age").exists():
        yield ["unseal", last]
    for name in evals[:1]:
        yield ["get", "evals", name]
        yield ["history", name]
        yield ["history", name, "--json"]
        yield ["history", name, "--plot", "drawn.svg"]
    yield from (["get", "evals", "-o", form] for form in ("wide", "json"))
    yield from (["get", kind] for kind in _KINDS)
    yield ["compare", "main", "change", "--json"]
    yield ["compare", "--markdown", "--plot", "drawn.svg"]
    yield from (["history"], ["flaky"], ["due", "--json"])


def _named(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of a run's Evals and fixtures, what did not pass first."""
    for name in ("plan.v1.json", "results.v1.json"):
        if (folder / name).exists():
            told = json.loads((folder / name).read_text())
            plan: Json = told.get("plan", told)
            every = [one["name"] for each in plan["evals"] for one in each["fixtures"]]
            bad = {
                one["key"]["fixture"] for one in told.get("trials", ()) if one["outcome"] != "pass"
            }
            names = sorted(dict.fromkeys(every), key=lambda name: name not in bad)
            return [one["name"] for one in plan["evals"]], names
    return [], []


def read(side: Side, case: Case) -> str:
    """Return what all commands say of a stored case, as one text."""
    with place_for() as place:
        with tarfile.open(KEPT / f"{case.name}.tar.xz") as archive:
            archive.extractall(place, filter="data")
        path = place / FOLDER
        env = {"PATH": "/usr/bin:/bin", "HOME": str(place), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **case.env}
        asked = commands(path)
        return "".join(_said(side, words, path, env) for words in asked)


def _said(side: Side, words: list[str], path: Path, env: dict[str, str]) -> str:
    done = side.one({"command": words, "folder": str(path), "env": env})
    drawn = path / "drawn.svg"
    more = drawn.read_text() if drawn.exists() else ""
    drawn.unlink(missing_ok=True)
    parts = [_short(done["out"]), _short(done["err"]), _short(more)]
    text = "".join(parts).replace(str(path.parent), "<place>")
    return f"$ gateval {' '.join(words)}  [{done['code']}]\n{text.rstrip()}\n\n"


def _short(text: str) -> str:
    """Return a text; of a long one its beginning and its digest."""
    if len(text) <= _LONG:
        return text
    return f"{text[:_HEAD]}\n... {len(text)} characters, {sha256(text.encode()).hexdigest()}\n"


def compare(sides: Sequence[Side], cases: Sequence[Case]) -> list[str]:
    """Return what two sides say otherwise of stored runs."""
    found = []
    with ThreadPoolExecutor(len(sides)) as pool:
        for case in cases:
            old, new = pool.map(lambda side, one=case: read(side, one), sides)
            found += _apart(case.name, old, new)
    return found


def check(sides: Sequence[Side], cases: Sequence[Case]) -> list[str]:
    """Return what is said otherwise of stored runs than was kept."""

    def apart(side: Side, case: Case) -> list[str]:
        kept = GOLDENS / f"{case.name}.txt"
        return _apart(case.name, kept.read_text() if kept.exists() else "", read(side, case))

    return [line for lines in _shared(sides, cases, apart) for line in lines]


def keep(sides: Sequence[Side]) -> None:
    """Write what is said of all stored runs."""
    GOLDENS.mkdir(parents=True, exist_ok=True)

    def write(side: Side, case: Case) -> None:
        (GOLDENS / f"{case.name}.txt").write_text(read(side, case))

    _shared(sides, CASES, write)


def _shared(sides: Sequence[Side], cases: Sequence[Case], do: Callable[[Side, Case], T]) -> list[T]:
    """Return what is done with each case, the cases shared among the sides."""

    def done(number: int) -> list[T]:
        return [do(sides[number], case) for case in cases[number :: len(sides)]]

    with ThreadPoolExecutor(len(sides)) as pool:
        return [one for each in pool.map(done, range(len(sides))) for one in each]


def _apart(name: str, old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", "", "", 2, "")
    return [f"run {name}:\n" + "\n".join(lines)] if old != new else []


@contextmanager
def place_for() -> Iterator[Path]:
    """Give a folder whose path is as long each time: views break lines."""
    place = Path(tempfile.mkdtemp(prefix="gateval-oracle-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _pack(place: Path, target: Path) -> None:
    """Pack a repository and its runs, the same bytes of the same files."""
    with io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as archive:
            for one in sorted((place / FOLDER).rglob("*")):
                if one.is_file() and not one.is_symlink():
                    info = archive.gettarinfo(one, str(one.relative_to(place)))
                    info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
                    with one.open("rb") as content:
                        archive.addfile(info, content)
        target.write_bytes(packed.getvalue())
