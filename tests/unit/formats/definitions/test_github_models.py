"""`.prompt.yml` of GitHub Models."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import found, read, sample

PATH = "prompts/summarize.prompt.yml"


def test_a_prompt_runs_by_its_model(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "github-models", "summarize"))
    assert snapshot.problems == ()
    agent = found(snapshot)["summarize"]
    assert agent.spec.models == ("openai/gpt-4o-mini",)
    assert agent.runtime_type == "model"
    assert str(agent.spec.system).startswith("You are a text summarizer.")


def test_its_tests_are_no_part_of_it(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "github-models")
    before = found(read(repo))["summarize"]
    text = (repo.path / PATH).read_text()
    for written, same in (
        (text.replace("The quick brown fox", "A fox"), True),
        (text.replace("temperature: 0.5", "temperature: 0.7"), False),
        (text.replace("Summarize the given", "Shorten the given"), False),
    ):
        repo.write(PATH, written)
        repo.commit()
        assert (found(read(repo))["summarize"].digest == before.digest) is same
