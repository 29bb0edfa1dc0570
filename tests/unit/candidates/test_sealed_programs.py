"""How a sealed program is started: nothing is imported from where a candidate could leave it."""

from __future__ import annotations

import pytest

from gateval.assertions.registry import ASSERTIONS
from gateval.candidates.playground_state import isolated, without_imports
from gateval.domain.manifests.fixture import OWN_CHECKS


@pytest.mark.parametrize(
    ("line", "started"),
    [
        ("python3 -", "python3 -I -"),
        ("python -m pytest", "python -I -m pytest"),
        ("/opt/venv/bin/python3.12 a.py", "/opt/venv/bin/python3.12 -I a.py"),
        ("python3.13t a.py", "python3.13t -I a.py"),
        ("pypy3 a.py", "pypy3 -I a.py"),
        ("env python3 -", "env python3 -I -"),
        ("/usr/bin/env -i -u HOME A=b python3 -", "/usr/bin/env -i -u HOME A=b python3 -I -"),
        ("env", "env"),
        ("sh", "sh"),
        ("python2 a.py", "python2 a.py"),
        ("cat python3", "cat python3"),
    ],
)
def test_python_takes_nothing_from_folder_and_environment(line: str, started: str) -> None:
    assert isolated(tuple(line.split())) == tuple(started.split())


def test_variables_that_name_places_to_import_from_are_taken_out() -> None:
    names = (
        *("PYTHONPATH", "PYTHONSTARTUP", "NODE_PATH", "NODE_OPTIONS", "RUBYLIB", "RUBYOPT"),
        *("PERL5LIB", "PERL5OPT", "LD_PRELOAD", "CLASSPATH", "BASH_ENV", "ENV", "LUA_PATH"),
    )
    given = {**dict.fromkeys(names, "/left"), "PATH": "tools:/usr/bin::./bin", "TOPIC": "x"}
    kept = without_imports(given)
    assert not set(names) & set(kept)
    assert (kept["PATH"], kept["TOPIC"], kept["PYTHONSAFEPATH"]) == ("/usr/bin", "x", "1")


def test_all_assertions_that_start_programs_say_so() -> None:
    starting = {name for name, kind in ASSERTIONS.items() if kind.starts_program}
    assert starting == {"commandResult", "sqlQuery", *OWN_CHECKS}
