"""One side of the oracle: a process that imports one tree and answers on standard output.

Started as `python side.py TREE ROOT`; ROOT is the tree whose oracle asks. Each line of standard
input is a question in JSON, each answer ends with a line `{"done": true}`. The entry points are
those of TREE, where it has an oracle, else those kept in `before.txt`. Clock, time zone and version stand still.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gc
import hashlib
import importlib.util
import io
import json
import os
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_NOW = dt.datetime(2026, 11, 23, 12, 0, 0, tzinfo=dt.UTC)
_DIGITS = 9
_LATE = ("jsonschema_rs", "re2", "rich.console", "rich.markup", "rich.table", "ruamel.yaml")
_SEEN = 300

Json = dict[str, Any]


class _Still(type(dt.datetime)):  # type: ignore[misc] # a metaclass that is found, not written
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _REAL)


_REAL = dt.datetime


class _Moment(_REAL, metaclass=_Still):
    """A `datetime` whose clock stands still."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return _NOW if tz else _NOW.replace(tzinfo=None)


def canonical(value: Any) -> str:
    """Return a value as JSON: equal values, equal text, floats by `repr`."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def rounded(value: Any) -> Any:
    """Return a value whose floats are the same on every machine."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {str(key): rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def digest(value: Any) -> str:
    """Return the first digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def main() -> None:
    """Answer questions until there are none."""
    tree, root = Path(sys.argv[1]), Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the product prints here is no answer
    sys.path[:0] = [str(tree / "src"), str(root)]
    dt.datetime = _Moment  # type: ignore[misc]
    entry = _entry(tree, root)
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    for line in sys.stdin:
        asked = json.loads(line)
        for answer in _answer(asked, entry):
            answers.write(json.dumps(answer) + "\n")
        answers.write('{"done": true}\n')
        answers.flush()


def _entry(tree: Path, root: Path) -> ModuleType:
    """Import the tree's product, and its entry points if it has some."""
    import gateval

    assert Path(gateval.__file__).is_relative_to(tree), f"{gateval.__file__} is not of {tree}"
    gateval.__version__ = "0.0.0"
    own = tree / "tests/oracle/entry.py"
    path = own if own.exists() else root / "tests/oracle/before.txt"
    loader = SourceFileLoader("oracle_entry", str(path))
    spec = importlib.util.spec_from_loader("oracle_entry", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle_entry"] = module
    loader.exec_module(module)
    return module


def _answer(asked: Json, entry: ModuleType) -> Iterator[Json]:
    if "command" in asked:
        _warm()
    if "seeds" in asked:
        for seed in range(*asked["seeds"]):
            yield {"seed": seed, "told": _world(asked, entry, seed)}
    elif "command" in asked:
        yield _command(asked)
    else:
        yield {"sections": list(entry.SECTIONS), "file": entry.__file__}


@cache
def _warm() -> None:
    """Import the product whole and build what it builds at first use, so that forks need not."""
    import pydantic

    import gateval

    for module in pkgutil.walk_packages(gateval.__path__, "gateval."):
        if not module.name.startswith(("gateval.__main__", "gateval.candidates.isolation")):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    waiting: list[type[pydantic.BaseModel]] = [pydantic.BaseModel]
    while waiting:
        models = waiting.pop().__subclasses__()
        waiting += models
        for model in models:
            with contextlib.suppress(pydantic.PydanticUndefinedAnnotation):
                model.model_rebuild()
    gc.freeze()


def _world(asked: Json, entry: ModuleType, seed: int) -> Json:
    from tests.oracle.worlds import make_world

    kept = _kept(asked)
    try:
        told = entry.run_world(make_world(seed))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other side says it, too
        return {"run": kept(_said(error))}
    found = {}
    for name in asked["sections"]:
        if name in entry.SECTIONS:
            try:
                found[name] = kept(entry.SECTIONS[name](told))
            except Exception as error:  # noqa: BLE001
                found[name] = kept(_said(error))
    return found


def _kept(asked: Json) -> Callable[[Any], Any]:
    """Return what is kept of a section: its digest, or all of it."""
    if asked.get("whole"):
        return lambda value: json.loads(canonical(value))
    if asked.get("rounded"):
        return lambda value: digest(rounded(json.loads(canonical(value))))
    return digest


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:_SEEN]}"


def _command(asked: Json) -> Json:
    """Run `gateval` with these arguments in a fork of this process."""
    with tempfile.TemporaryDirectory(prefix="gateval-oracle-said-") as kept:
        files = [Path(kept) / name for name in ("out", "err")]
        child = os.fork()
        if child == 0:
            _be_gateval(asked, files)
        _, status = os.waitpid(child, 0)
        out, err = (one.read_text(errors="surrogateescape") for one in files)
    return {"code": os.waitstatus_to_exitcode(status), "out": out, "err": err}


def _be_gateval(asked: Json, files: list[Path]) -> None:
    code = 70
    try:
        opened = [os.open(os.devnull, os.O_RDONLY)]
        opened += [os.open(one, os.O_WRONLY | os.O_CREAT, 0o600) for one in files]
        for number, descriptor in enumerate(opened):
            os.dup2(descriptor, number)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, mode), errors="surrogateescape")
            for number, mode in enumerate("rww")
        )
        sys.argv = ["gateval", *asked["command"]]
        from gateval.__main__ import main as gateval_main

        gateval_main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
