"""What costs a process much is loaded when it is needed, and by what needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gateval.cli.main import ROOMS


@pytest.mark.parametrize(
    "module", ["gateval.app.planning", "gateval.app.run.evaluate", "gateval.adapters.list_prices"]
)
def test_the_list_is_not_loaded_before_money_is_counted(module: str) -> None:
    code = f"import sys, {module}; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_the_list_updates_itself_with_is_never_loaded() -> None:
    code = (
        "import sys; from gateval.adapters.list_prices import ListPrices; ListPrices().load(); "
        "before = 'httpx2._client' in sys.modules; import httpx2; httpx2.Timeout(1); "
        "print(before, 'httpx2._client' in sys.modules, type(httpx2).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "module"]


def test_a_command_loads_those_of_its_file_alone() -> None:
    code = (
        "import sys; from gateval.cli.main import run; run(['schema']); "
        f"print([one for one in {list(ROOMS)} if f'gateval.cli.{{one}}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['authoring']"


@pytest.mark.parametrize(
    ("code", "late"),
    [
        ("from gateval.cli.main import run; run(['check', '--help'])", {"pydantic"}),
        ("import gateval.app.init", {"aiohttp", "gateval.app.doctor", "gateval.app.proof"}),
        ("import gateval.app.spread", {"gateval.app.check", "jinja2"}),
    ],
)
def test_what_nobody_needs_yet_is_not_loaded(code: str, late: set[str]) -> None:
    code = f"import sys; {code}; print(sorted({late} & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
