"""`root_agent.yaml` of Google's ADK, which its bridge starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.definitions import closure, found, read, sample


def test_the_bridge_starts_it_with_its_folder_and_its_team(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "adk", "weather"))
    assert snapshot.problems == ()
    agent = found(snapshot)["weather"]
    assert agent.runtime_type == "python"
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["target"] == "weather/root_agent.yaml"
    assert closure(snapshot, "weather") == {
        "weather/root_agent.yaml", "weather/roll_agent.yaml", "weather/tools.py",
        "weather/__init__.py", "shared/prime_agent.yaml",
    }  # fmt: skip


def test_a_mapping_adds_the_set_up(tmp_path: Path) -> None:
    """Keys that a mapping does not name are as the format has them."""
    config = "agents: [{match: weather/*, runtime: {cwd: weather, setup: [make, deps]}}]\n"
    agent = found(read(sample(tmp_path / "repo", "adk", config=config)))["weather"]
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.setup == ("make", "deps")
    assert agent.spec.runtime.cwd == "/weather"
    assert agent.runtime_type == "python"


@pytest.mark.parametrize(
    ("program", "more"),
    [
        ("x = 1\n", set()),
        ("from rates import today\n", {"rates.py", "tariffs/a.json"}),
        ("import sys\nsys.path.append('.')\n", {"rates.py", "tariffs/a.json", "other/x.py", "notes.md"}),
        ("text = open('notes.md').read()\n", {"notes.md"}),
    ],
)  # fmt: skip
def test_it_gets_of_the_folder_above_what_its_files_name(
    tmp_path: Path, program: str, more: set[str]
) -> None:
    """Python finds its tools there; a change of the rest changes nothing of it."""
    repo = sample(tmp_path / "repo", "adk", "weather")
    before = closure(read(repo), "weather")
    repo.write("weather/more.py", program)
    repo.write("rates.py", "DATA = 'tariffs/a.json'\n")
    for path in ("tariffs/a.json", "other/x.py", "notes.md"):
        repo.write(path, "1\n")
    repo.write("requirements.txt", "google-adk\n")
    repo.commit()
    got = closure(read(repo), "weather") - {"evals/weather.yaml"}
    assert got == before | {"weather/more.py", "requirements.txt"} | more


def test_what_cannot_be_read_or_lists_a_folder_leads_anywhere_and_two_of_a_name_are_both_its_own(
    tmp_path: Path,
) -> None:
    """A change that the closure lacks would run no Eval."""
    repo = sample(tmp_path / "repo", "adk", "weather")
    for path in ("rates.py", "rates/__init__.py", "other/x.py"):
        repo.write(path, "X = 1\n")
    repo.write("weather/config.json", '{"module": "rates"}')
    repo.commit()
    agent = closure(read(repo), "weather")
    assert {"rates.py", "rates/__init__.py"} <= agent
    assert "other/x.py" not in agent
    for text in ("X = [*HERE.parent.iterdir()]\n", "# " + "x" * 2_000_000, b"X = '\xff\xfe'\n"):
        (repo.path / "weather/more.py").write_bytes(
            text if isinstance(text, bytes) else text.encode()
        )
        repo.commit()
        assert "other/x.py" in closure(read(repo), "weather"), text[:20]
