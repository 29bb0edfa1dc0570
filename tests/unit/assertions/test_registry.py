from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from inspect import isabstract

import pytest

import gateval.assertions
from gateval.assertions.base import Assertion, JudgedAssertion
from gateval.assertions.combinators import Combinator, Weighing
from gateval.assertions.own_checks import OwnProgram
from gateval.assertions.registry import ASSERTIONS, COMBINATORS, JUDGED, WEIGHING
from gateval.domain.manifests.fixture import INCLUDE, OWN_CHECKS
from gateval.formats.native.fixture import COMMON_KEYS, PARTS


def test_every_entry_is_found_under_its_own_name() -> None:
    assert {name: one.type for name, one in ASSERTIONS.items()} == {
        name: name for name in ASSERTIONS
    }
    assert len(ASSERTIONS) == len(list(ASSERTIONS))
    assert "contains" in ASSERTIONS
    assert "nothing" not in ASSERTIONS
    with pytest.raises(KeyError):
        ASSERTIONS["nothing"]


def test_every_assertion_that_is_written_is_in_the_registry() -> None:
    written = {
        one
        for module in pkgutil.walk_packages(gateval.assertions.__path__, "gateval.assertions.")
        for one in vars(import_module(module.name)).values()
        if isinstance(one, type) and issubclass(one, Assertion) and not isabstract(one)
    }
    assert written == set(ASSERTIONS.values())


def test_the_judged_ones_are_known_without_importing_them() -> None:
    assert {name for name, one in ASSERTIONS.items() if one.needs_judge} == JUDGED
    asks_itself = {name for name, one in ASSERTIONS.items() if issubclass(one, JudgedAssertion)}
    assert asks_itself == JUDGED - {"judgeFromScript", "compositeJudge", "preference"}


def test_so_are_combinators_and_own_checks() -> None:
    kinds = {name: one for name, one in ASSERTIONS.items() if issubclass(one, OwnProgram)}
    assert OWN_CHECKS.keys() == kinds.keys()
    for name, key in OWN_CHECKS.items():
        assert {key, INCLUDE} <= kinds[name].model_fields.keys()
    made = {name for name, one in ASSERTIONS.items() if issubclass(one, Combinator)}
    assert made == COMBINATORS
    assert {name for name, one in ASSERTIONS.items() if issubclass(one, Weighing)} == WEIGHING
    assert PARTS in Combinator.model_fields


@pytest.mark.parametrize("name", list(ASSERTIONS))
def test_no_assertion_takes_a_key_that_all_have(name: str) -> None:
    keys = {field.alias or key for key, field in ASSERTIONS[name].model_fields.items()}
    assert keys.isdisjoint(COMMON_KEYS)


@pytest.mark.parametrize("name", list(ASSERTIONS))
def test_every_option_is_described(name: str) -> None:
    for key, field in ASSERTIONS[name].model_fields.items():
        assert field.description, f"{name}.{key} needs a description"


def test_reading_the_registry_is_cheap_and_using_it_brings_no_heavy_module() -> None:
    code = """
import sys
from pydantic import BaseModel
import gateval.domain.trials.trial, gateval.domain.manifests.fixture
from gateval.assertions.registry import ASSERTIONS, JUDGED
assert "gateval.assertions.base" not in sys.modules
list(ASSERTIONS.values())
heavy = {"re2", "jsonschema_rs", "asyncio", "aiohttp"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
