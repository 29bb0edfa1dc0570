from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateval.candidates.base import Runtime
from gateval.candidates.registry import RUNTIMES
from gateval.domain.manifests.agent import RuntimeSpec

SAMPLES = Path(__file__).parents[3] / "examples" / "runtimes"


@pytest.mark.parametrize("name", list(RUNTIMES))
def test_what_a_row_names_is_a_runtime(name: str) -> None:
    assert issubclass(RUNTIMES[name].load(), Runtime)


def test_every_runtime_has_a_sample() -> None:
    assert {path.parent.name for path in SAMPLES.glob("*/agent.yaml")} == set(RUNTIMES)


@pytest.mark.parametrize("name", list(RUNTIMES))
def test_options_refuse_unknown_keys_and_requirements_are_shared_keys(name: str) -> None:
    with pytest.raises(ValidationError):
        RUNTIMES[name].options.model_validate({"noSuchKey": 1})
    assert set(RUNTIMES[name].requires) <= set(RuntimeSpec.model_fields)


def test_plan_can_import_the_registry_cheaply() -> None:
    program = (
        "import sys; import gateval.candidates.registry as r; list(r.RUNTIMES.values());"
        "print([m for m in ('asyncio', 'subprocess', 'aiohttp', 'yaml', 'jinja2', 'jsonpath_rfc9535', 'gateval.candidates.base', 'gateval.domain.trials.trace') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.strip() == b"[]"
