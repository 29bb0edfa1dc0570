"""How agents of other tools' files are started: `agents` of the gate config."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import CONFIG, closure, found, read, refusals, sample


def test_a_manifest_of_the_same_name_is_the_agent(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude", "code-reviewer")
    repo.write(
        "agent.yaml",
        "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: code-reviewer}\n"
        "spec: {models: [openai/gpt-5], system: Review.}\n",
    )
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("code-reviewer")
    assert agent is not None
    assert agent.path == "agent.yaml"


def test_what_no_eval_targets_is_no_agent_of_the_revision(tmp_path: Path) -> None:
    """It is found, costs nothing and can make no problem."""
    snapshot = read(sample(tmp_path / "repo", "claude"))
    assert snapshot.catalogue.agents == ()
    assert found(snapshot).keys() == {"code-reviewer", "test-runner", "changelog"}


def test_a_mapping_says_models_and_adds_to_the_command_line(tmp_path: Path) -> None:
    config = (
        "agents:\n- match: .claude/agents/*.md\n  models: [anthropic/claude-sonnet-4-5]\n"
        "  include: [tools/**]\n  runtime: {env: {DEBUG: '1'}}\n"
    )
    repo = sample(tmp_path / "repo", "claude", "code-reviewer", config=config)
    repo.write("tools/x.txt", "x")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("code-reviewer")
    assert agent is not None
    assert agent.spec.runtime is not None
    assert agent.spec.models == ("anthropic/claude-sonnet-4-5",)
    assert agent.spec.runtime.env["ANTHROPIC_MODEL"] == "claude-sonnet-4-5"
    assert agent.spec.runtime.env["DEBUG"] == "1"
    assert agent.spec.runtime.command[0] == "claude"
    assert "tools/x.txt" in closure(snapshot, "code-reviewer")


def test_a_prompt_alone_is_asked_of_a_model(tmp_path: Path) -> None:
    config = "agents: [{match: .claude/**, models: [openai/gpt-5], runtime: {type: model}}]\n"
    snapshot = read(sample(tmp_path / "repo", "claude", "code-reviewer", config=config))
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("code-reviewer")
    assert agent is not None
    assert agent.runtime_type == "model"
    assert agent.spec.watch is None


def test_what_is_wrong_with_a_mapping_is_told_by_its_place_in_the_config(tmp_path: Path) -> None:
    started = "type: command, command: [x]"
    for wrong, key in (
        ("type: command, comand: [x]", "comand"),
        (f"{started}, setup: {{run: [x], inputs: [../x], creates: [y]}}", "setup.inputs[0]"),
        (f"{started}, setup: {{run: [x], inputs: [/tools], creates: [../y]}}", "setup.creates[0]"),
    ):
        config = f"agents: [{{match: .claude/**, runtime: {{{wrong}}}}}]\n"
        snapshot = read(sample(tmp_path / key / "repo", "claude", "code-reviewer", config=config))
        told = str(snapshot.problems)
        assert (f"agents[0].runtime.{key} of {CONFIG}" in told, "spec." in told) == (True, False), (
            told
        )


def test_a_mapping_that_fits_nothing_is_told(tmp_path: Path) -> None:
    config = "agents: [{match: .cluade/**, models: [openai/gpt-5]}]\n"
    snapshot = read(sample(tmp_path / "repo", "claude", config=config))
    (warning,) = snapshot.catalogue.passed_over
    assert str(warning) == (
        f'{CONFIG}:1:1: agents[0].match: ".cluade/**" fits no definition of an agent in this '
        "revision."
    )


def test_patterns_of_manifests_leave_out_definitions_that_no_mapping_names(tmp_path: Path) -> None:
    config = "manifests: [evals/**]\nagents: [{match: .claude/skills/**}]\n"
    snapshot = read(sample(tmp_path / "repo", "claude", config=config))
    assert found(snapshot).keys() == {"changelog"}


def test_two_of_one_name_are_told_apart_or_refused(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude", "test-runner")
    repo.write("web/.claude/agents/test-runner.md", "---\nname: test-runner\n---\nWeb.\n")
    repo.commit()
    snapshot = read(repo)
    assert "Two definitions are called test-runner" in refusals(snapshot)["test-runner"]
    assert len(snapshot.problems) == 1
    repo.write(CONFIG, "agents: [{match: web/**, name: 'web-{name}'}]\n")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    assert {"test-runner", "web-test-runner"} <= found(snapshot).keys()


def test_cursors_program_is_refused_in_any_manifest(tmp_path: Path) -> None:
    config = "agents: [{match: .claude/**, runtime: {command: [cursor-agent, -p]}}]\n"
    snapshot = read(sample(tmp_path / "repo", "claude", "code-reviewer", config=config))
    (problem,) = snapshot.problems
    assert "Cursor's command line takes no address for its models" in str(problem)


def test_a_slip_in_the_name_is_told(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "claude", "code-reviewr"))
    assert 'Did you mean "code-reviewer"?' in str(snapshot.problems[0])
