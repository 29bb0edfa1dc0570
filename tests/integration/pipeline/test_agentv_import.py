"""`gateval import agentv`: what it writes reads as what the suite said."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.messages import TextPart, parts_of
from gateval.formats.agentv.assembly import carried, lost
from tests.helpers.agentv import agentv, read
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.integration.pipeline.test_agentv_examples import DATA, EXAMPLES, expected

FILE = re.compile(r"<file (?:name|path)=\"[^\"]*\">\n(.*?)\n?</file>", re.DOTALL)
LOADING = [one for one in EXAMPLES if expected(one).startswith("gives")]


def asked(fixture: Fixture) -> tuple[object, ...]:
    """What a fixture says, but for the tags around the text of a file, and its line breaks."""
    parts = [
        FILE.sub(r"\1", part.text.replace("\r\n", "\n")).strip()
        for message in fixture.input.messages
        for part in parts_of(message.content)
        if isinstance(part, TextPart)
    ]
    prompt = "" if fixture.input.messages else fixture.input.prompt
    return (
        prompt,
        parts,
        [message.role for message in fixture.input.messages],
        len(fixture.turns),
        fixture.reference,
        [one.meaning | {"files": ""} for one in fixture.assertions if one.weight],
    )


@pytest.mark.parametrize("name", LOADING)
def test_every_example_means_the_same_when_it_is_imported(name: str, tmp_path: Path) -> None:
    version, folder = name.split("/")
    repo = Repo(tmp_path / "repo")
    shutil.copytree(DATA / version / ".agentv", repo.path / ".agentv")
    shutil.copytree(DATA / name, repo.path / folder, dirs_exist_ok=True)
    repo.commit()
    before = read(repo)
    paths = {one.path for one in before.catalogue.evals}
    for path in paths:
        evals = [one for one in before.catalogue.evals if one.path == path]
        text = carried(before.catalogue.agents, evals, before.catalogue, before.tree)
        repo.delete(path)
        for companion in (Path(path).with_suffix(".yaml"), Path(path).with_suffix(".eval.yaml")):
            if path.endswith(".jsonl") and (repo.path / companion).exists():
                repo.delete(str(companion))
        repo.write(f"{path}.native.yaml", text)
    for cases in (repo.path / folder).rglob("*.jsonl"):  # lines that no suite names are one
        repo.delete(str(cases.relative_to(repo.path)))
    repo.commit()
    after = read(repo)
    assert [str(problem) for problem in after.problems] == []
    for old in before.catalogue.evals:
        new = after.catalogue.eval(old.name)
        assert new is not None
        assert (new.target_agent, new.judge, new.scoring, new.execution) == (
            old.target_agent, old.judge, old.scoring, old.execution,
        )  # fmt: skip
        found = {one.name: asked(one) for one in select_fixtures(new, after.catalogue)}
        wanted = {one.name: asked(one) for one in select_fixtures(old, before.catalogue)}
        assert found == wanted
    for agent in before.catalogue.agents:
        again = after.catalogue.agent(agent.name)
        assert again is not None
        assert again.spec == agent.spec


SUITE = """\
evalcases:
  - id: one
    expected_outcome: Good
    input:
      - {role: system, content: [{type: file, value: rules.md}]}
      - role: user
        content: [{type: file, value: note.md}, {type: text, value: "true"}]
    execution:
      evaluators:
        - {name: seen, type: llm_judge, weight: 0}
        - {name: told, type: llm_judge, prompt: "Is it 1e3, or: no?"}
"""


def test_what_does_not_carry_over_is_listed(tmp_path: Path) -> None:
    files = {"evals/a.yaml": SUITE, "evals/rules.md": "Rules\n", "evals/note.md": "Note\n"}
    snapshot = read(agentv(tmp_path / "repo", files))
    found = snapshot.catalogue
    assert [*lost(found.fixtures, snapshot.tree)] == [
        "evals/a.yaml:2 seen: its weight of 0 has no native form, so it is left out",
        "evals/a.yaml:2 note.md: told by file name, not by path, and with its own line breaks",
        "evals/a.yaml:2 rules.md: only the user sends files, so its text stands there",
    ]


def test_the_command(tmp_path: Path) -> None:
    files = {"evals/a.yaml": SUITE, "evals/rules.md": "Rules\n", "evals/note.md": "Note\n"}
    repo = agentv(tmp_path / "repo", files)
    done = gateval(repo, "import", "agentv", "evals/a.yaml")
    assert done.returncode == 0, done.stderr
    assert "wrote evals/a.gateval.yaml: 1 Agent, 1 Eval, 1 fixture." in done.stdout
    assert "its weight of 0 has no native form" in done.stdout
    assert "Next: git rm evals/a.yaml" in done.stdout
    repo.delete("evals/a.yaml")
    assert gateval(repo, "validate").stdout == (
        "1 Agent, 1 Eval, 1 fixture, 0 calibrations: valid.\n"
    )
    for arguments, said in (
        (("agentv", "evals/a.gateval.yaml"), "evals/a.gateval.yaml is no suite of AgentV."),
        (("agentv", "evals/note.md"), "evals/note.md is no suite of AgentV."),
        (("agentv", "evals/none.yaml"), "There is no file evals/none.yaml."),
        (("other", "evals/a.yaml"), "'other' is not one of 'agentv'"),
    ):
        done = gateval(repo, "import", *arguments)
        assert done.returncode == 2
        assert said in done.stderr


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    lines = '{"id": "a", "expected_outcome": "Good", "input": "Hi"}\n'
    files = {"evals/d.jsonl": lines, "evals/d.yaml": "execution: {target: default}\n"}
    repo = agentv(tmp_path / "repo", {**files, "evals/d.gateval.yaml": "mine: true\n"})
    done = gateval(repo, "import", "agentv", "evals/d.yaml")
    assert done.returncode == 2
    assert "evals/d.gateval.yaml is there already." in done.stderr
    repo.delete("evals/d.gateval.yaml")
    done = gateval(repo, "import", "agentv", "evals/d.yaml")
    assert "1 Agent, 1 Eval, 1 fixture" in done.stdout, done.stderr
