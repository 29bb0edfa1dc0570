"""Runs tests against mutants, each in a fork of one pytest process that has collected them."""

from __future__ import annotations

import builtins
import functools
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from tools.mutations.mutants import Function, Mutant, key_of

TIMES = 20
"""A test that takes so many times its CPU time, and a second, has killed the mutant by time."""

SILENCE = 600
"""Seconds without a word from a fork after which it is ended: a test sleeps for ever."""

MEMORY = 4 << 30

Say = Callable[[Any], None]
Outcome = dict[str, Any]


def outcomes(
    mutants: Sequence[Mutant], functions: Iterable[Function], tests: str
) -> dict[Mutant, Outcome]:
    """Return for each mutant whether it was killed, by which test, or how many it survived."""
    plugin = _Loop(mutants, {each.name: each for each in functions})
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-s", f"--basetemp={folder}/tests"]
        code = pytest.main([*options, "--hypothesis-profile=mutants", tests], plugins=[plugin])
    if len(plugin.found) < len(mutants):
        raise SystemExit(f"pytest ended before all mutants were measured: {code!r}")
    return plugin.found


class _Loop:
    """Stands in the place of pytest's own loop over tests."""

    def __init__(self, mutants: Sequence[Mutant], functions: Mapping[str, Function]) -> None:
        self.mutants, self.functions = mutants, functions
        self.found: dict[Mutant, Outcome] = {}
        self.failed = ""
        self.caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Have properties look at the same examples each time, and make no failure smaller."""
        from hypothesis import Phase, settings

        same = settings(deadline=None, derandomize=True, database=None, max_examples=20)
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", same, phases=phases)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test failed."""
        if report.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out which tests reach which line, then let them at its mutants."""
        objects = _objects({self.functions[mutant.function] for mutant in self.mutants})
        self.caches = _caches()
        items = {item.nodeid: item for item in session.items}
        reached, seconds = _in_fork(functools.partial(self._reach, session.items, objects))
        for done, mutant in enumerate(self.mutants, 1):
            mine = reached.get(f"{mutant.function}:{mutant.line}", ())
            tests = sorted(mine, key=seconds.__getitem__)
            limits = [(items[test], 1 + TIMES * seconds[test]) for test in tests]
            function = self.functions[mutant.function]
            attack = functools.partial(self._attack, limits, objects[function.name])
            found = _in_fork(functools.partial(attack, function.code(mutant)))
            self.found[mutant] = found
            print(
                f"{done} of {len(self.mutants)}: {found['outcome']} {mutant.function}", flush=True
            )
            if found["outcome"] == "survived":
                place = f"{function.path}:{mutant.line}"
                print(f"  {place} {found['tests']} tests, {mutant.operator}: {mutant.before!r}")
                print(f"  became {mutant.after!r}", flush=True)
        return True

    def _reach(
        self,
        items: Sequence[pytest.Item],
        objects: Mapping[str, list[types.FunctionType]],
        say: Say,
    ) -> None:
        """Say which tests reach each line, and the CPU time of each test."""
        reached: set[tuple[str, int]] = set()
        vars(builtins)["_reached"] = lambda *place: reached.add(place)
        for name, found in objects.items():
            _exchange(found, self.functions[name].marked())
        tests: defaultdict[str, list[str]] = defaultdict(list)
        seconds = {}
        for item in items:
            reached.clear()
            for cache in self.caches:  # a test reaches what it would if it were alone
                cache.cache_clear()
            say(f"{item.nodeid} does not end, without any mutant.")  # where nothing else is said
            started = time.process_time()
            self._run(item)
            seconds[item.nodeid] = time.process_time() - started
            if self.failed:
                raise SystemExit(f"{self.failed} fails without any mutant.")
            for name, line in reached:
                tests[f"{name}:{line}"].append(item.nodeid)
        say((tests, seconds))

    def _attack(
        self,
        limits: Sequence[tuple[pytest.Item, float]],
        mine: Iterable[types.FunctionType],
        code: types.CodeType,
        say: Say,
    ) -> None:
        _exchange(mine, code)
        for cache in self.caches:
            cache.cache_clear()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        for item, limit in limits:
            say({"outcome": "timeout", "test": item.nodeid})  # where nothing else is said
            signal.setitimer(signal.ITIMER_PROF, limit)
            self._run(item)
            if self.failed:
                say({"outcome": "killed", "test": item.nodeid})
                return
        say({"outcome": "survived", "tests": len(limits)})

    def _run(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _in_fork(work: Callable[[Say], None]) -> Any:
    """Return what work in a process of its own said last."""
    here, there = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _work(work, here, there)
    os.close(there)
    read = b""
    while select.select([here], [], [], SILENCE)[0] and (more := os.read(here, 1 << 20)):
        read += more
    os.close(here)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = json.loads(read.splitlines()[-1])
    if isinstance(said, str):
        raise SystemExit(said)
    return said


def _work(work: Callable[[Say], None], here: int, there: int) -> None:
    os.close(here)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    with os.fdopen(there, "w") as pipe:

        def say(said: Any) -> None:
            print(json.dumps(said), file=pipe, flush=True)

        try:
            work(say)
        except BaseException:  # noqa: BLE001
            say(traceback.format_exc())
        finally:
            os._exit(0)


def _exchange(functions: Iterable[types.FunctionType], code: types.CodeType) -> None:
    for function in functions:
        function.__code__ = code


def _objects(wanted: Iterable[Function]) -> dict[str, list[types.FunctionType]]:
    """Return the functions of this process that were made of the text of those wanted."""
    names = {function.key: function.name for function in wanted}
    for name in names.values():
        importlib.import_module(name.partition(":")[0])
    found: dict[str, list[types.FunctionType]] = {name: [] for name in names.values()}
    for each in _all_objects():
        if isinstance(each, types.FunctionType) and (known := names.get(key_of(each.__code__))):
            found[known].append(each)
    if missing := [name for name, objects in found.items() if not objects]:
        raise SystemExit(f"not in the running process: {', '.join(missing)}")
    return found


def _caches() -> list[Any]:
    kind = type(functools.cache(len))
    found = [each for each in _all_objects() if type(each) is kind]
    return [each for each in found if str(each.__module__).startswith("gateval.")]


def _all_objects() -> list[Any]:
    """Return what the collector knows, that which `tests/conftest.py` freezes too."""
    gc.unfreeze()
    found = gc.get_objects()
    gc.freeze()
    return found
