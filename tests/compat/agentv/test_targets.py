"""Targets: what is asked, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import Eval
from tests.compat.rows import states
from tests.helpers.agentv import agentv, problems, read
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

SUITE = """\
execution: {target: mine}
evalcases:
  - id: one
    expected_outcome: Good
    input: Hello
    execution: {evaluators: [{name: said, type: latency, threshold: 5000}]}
"""


def target(tmp_path: Path, body: str, suite: str = SUITE, **files: str) -> tuple[Agent, Eval]:
    """The Agent and Eval of a target with this body, which a suite in `evals/` asks."""
    snapshot = read(repository(tmp_path, body, suite, **files))
    assert [str(problem) for problem in snapshot.problems] == []
    return snapshot.catalogue.agents[0], snapshot.catalogue.evals[0]


def repository(tmp_path: Path, body: str, suite: str = SUITE, **files: str) -> Repo:
    targets = f"targets:\n  - name: mine\n{body}"
    return agentv(tmp_path / "repo", {"evals/suite.yaml": suite, **files}, targets=targets)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("azure", "azure/m"),
        ("anthropic", "anthropic/m"),
        ("gemini", "gemini/m"),
        ("google", "gemini/m"),
        ("openai", "openai/m"),
        ("openrouter", "openrouter/m"),
    ],
)
@states("A target has a `name`, a `provider` and, for models, `model`")
@states(
    "`endpoint` and `api_key` of a target say where its model is and what opens it",
    differs="they are left unread: keys are the gate's own, and no candidate's; "
    "`AZURE_OPENAI_ENDPOINT` and the like are set in its environment",
)
def test_models(provider: str, model: str, tmp_path: Path) -> None:
    body = f"    provider: {provider}\n    endpoint: ${{{{ WHERE }}}}\n    api_key: ${{{{ KEY }}}}\n    model: m\n"
    agent, _ = target(tmp_path, body)
    assert (agent.name, agent.spec.models, agent.runtime_type) == ("mine", (model,), "model")


@pytest.mark.parametrize(
    "provider", ["codex", "claude-code", "copilot-cli", "vscode", "pi-coding-agent", "mock"]
)
@states(
    "Providers `codex`, `claude-code`, `copilot-cli`, `vscode`, `pi-coding-agent` and `mock`",
    refused="Write a target with `provider: cli` whose `command` runs it",
)
def test_programs_that_the_gate_does_not_know(provider: str, refusal: str, tmp_path: Path) -> None:
    (said,) = problems(repository(tmp_path, f"    provider: {provider}\n"))
    assert said.startswith(".agentv/targets.yaml:3:15: targets[0].provider: ")
    assert refusal in said


@states("`provider: cli` runs `command_template` (later `command`) in a shell")
@states("`cwd` is relative to the eval file's directory, which it is if left out")
@states("`timeout_seconds` limits one answer, `workers` is how many run side by side")
def test_command_lines(tmp_path: Path) -> None:
    body = (
        "    provider: cli\n    command_template: python3 ../agent/run.py {PROMPT}\n"
        "    timeout_seconds: 30\n    workers: 2\n"
    )
    agent, evaluation = target(tmp_path, body, **{"agent/run.py": "", "agent/more.py": ""})
    runtime = agent.spec.runtime
    assert runtime is not None
    assert (agent.name, runtime.type, runtime.cwd) == ("mine.in-evals", "agentv", "/evals")
    assert runtime.options == {"line": "python3 ../agent/run.py {PROMPT}"}
    assert agent.spec.include == ("/agent",), "the folder of the program is part of the Agent"
    assert (evaluation.execution.timeout_seconds, evaluation.execution.parallel) == (30, 2)
    body = "    provider: cli\n    command: python3 run.py\n    cwd: ../agent\n"
    agent, _ = target(tmp_path / "other", body, **{"agent/run.py": ""})
    assert agent.spec.runtime is not None
    assert (agent.name, agent.spec.runtime.cwd) == ("mine.in-agent", "/agent")


@states("A targets file is looked for beside the eval file, then in every directory above")
@states("`targets.yaml` and `.agentv/targets.yaml` are looked for")
def test_the_nearest_targets_file_counts(tmp_path: Path) -> None:
    near = "targets:\n  - {name: mine, provider: openai, model: near}\n"
    agent, _ = target(
        tmp_path, "    provider: openai\n    model: far\n", **{"evals/targets.yaml": near}
    )
    assert (agent.name, agent.spec.models) == ("evals.mine", ("openai/near",))


@states("`judge_target` (later `grader_target`) is the model that judges; else the target itself")
def test_who_judges(tmp_path: Path) -> None:
    judged = SUITE.replace("type: latency, threshold: 5000", "type: llm_judge")
    body = "    provider: openai\n    model: m\n"
    _, evaluation = target(tmp_path, body, judged)
    assert evaluation.judge.model == "openai/m"
    judge = "  - {name: judge, provider: anthropic, model: j}\n"
    for key in ("judge_target", "grader_target"):
        _, evaluation = target(tmp_path / key, f"{body}    {key}: judge\n{judge}", judged)
        assert evaluation.judge.model == "anthropic/j"
    (said,) = problems(repository(tmp_path / "none", "    provider: cli\n    command: a\n", judged))
    assert "Add `judge_target` (or `grader_target`)" in said


@states("`use_target` hands on to another target")
def test_delegation(tmp_path: Path) -> None:
    body = "    use_target: real\n  - {name: real, provider: openai, model: m}\n"
    agent, _ = target(tmp_path, body)
    assert agent.name == "real"
    (said,) = problems(repository(tmp_path / "loop", "    use_target: mine\n"))
    assert "leads back to itself" in said


@states(
    "`${{ NAME }}` in a target is the value of an environment variable",
    differs="only of those that `policy.candidateEnv` names: a pull request could read any other",
)
@states(
    "A missing variable is an empty text",
    refused="name it in policy.candidateEnv of .github/gateval.yml",
)
def test_variables(refusal: str, tmp_path: Path) -> None:
    body = "    provider: openai\n    model: ${{ MODEL }}\n"
    repo = repository(tmp_path, body)
    (said,) = problems(repo, MODEL="big")
    assert refusal in said
    repo.write(".github/gateval.yml", "policy: {candidateEnv: [MODEL]}\n")
    repo.commit()
    snapshot = read(repo, MODEL="big")
    assert snapshot.problems == ()
    assert snapshot.catalogue.agents[0].spec.models == ("openai/big",)


@states("`retry` settings, `log_dir`, `verbose` and the like", differs="they are left unread")
@states("`healthcheck` is run first", differs="it is not: a first trial tells the same")
def test_settings_that_mean_nothing_here(tmp_path: Path) -> None:
    target(
        tmp_path,
        "    provider: cli\n    command: python3 run.py\n    max_retries: 3\n    verbose: true\n"
        "    healthcheck: {type: command, command_template: python3 run.py --check}\n",
        **{"evals/run.py": ""},
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    provider: cli\n", "needs `command`"),
        ("    provider: openai\n", "needs `model`"),
        ("    model: m\n", "has no `provider`"),
        ("    provider: cli\n    command: a {PROMT}\n", "The placeholder {PROMT} is not filled in"),
        ("    provider: cli\n    command: a\n    cwd: ../../x\n", "leads out of the repository"),
        ("    provider: cli\n    comand: a\n", 'Did you mean "command"?'),
        ("    provider: cli\n    command: a\n    workers: many\n", "Expected a whole number"),
        ("    provider: cli\n    command: a\n    gateval: {setups: [b]}\n", 'Did you mean "setup"?'),
        ("    provider: cli\n    command: a\n    workspace_template: ./t\n", "Name the folder in `cwd`"),
        ("    provider: bedrock\n    model: m\n", "does not start \"bedrock\""),
    ],
)  # fmt: skip
@states("A target that cannot be used is an error")
def test_targets_that_cannot_be_used(body: str, message: str, tmp_path: Path) -> None:
    (said,) = problems(repository(tmp_path, body))
    assert message in said
    assert said.startswith(".agentv/targets.yaml:")


@states("A target that no targets file has is an error")
def test_no_such_target(tmp_path: Path) -> None:
    (said,) = problems(
        agentv(tmp_path / "near", {"evals/suite.yaml": SUITE.replace("mine", "defalt")})
    )
    assert said.startswith("evals/suite.yaml:1:21: execution.target: ")
    assert 'There is no target "defalt" in .agentv/targets.yaml. Did you mean "default"?' in said
    (said,) = problems(agentv(tmp_path / "none", {"evals/suite.yaml": SUITE}, targets=""))
    assert "There is no targets file" in said


def test_keys_of_ours_stand_under_gateval(tmp_path: Path) -> None:
    body = (
        "    provider: cli\n    command: python3 run.py\n"
        "    gateval:\n      include: [/lib]\n      env: {LEVEL: high}\n"
        "      setup: {run: [pip, install], inputs: [lock.txt], creates: [.venv]}\n"
    )
    files = {"evals/run.py": "", "evals/lock.txt": "", "lib/a.py": ""}
    agent, _ = target(tmp_path, body, **files)
    runtime = agent.spec.runtime
    assert runtime is not None
    assert agent.spec.include == ("/lib",)
    assert (runtime.env, runtime.layer and runtime.layer.creates) == ({"LEVEL": "high"}, (".venv",))


@states("`execution.workers`, `execution.trials` and `execution.threshold` of a suite")
@states(
    "`trials.strategy`: `pass_at_k` counts the best trial",
    differs="all trials count: what passes once in three is what users meet",
)
@states(
    "`execution.threshold` of a case", differs="cases with one of their own have an Eval of theirs"
)
def test_execution_of_a_suite(tmp_path: Path) -> None:
    suite = """\
execution: {target: mine, workers: 7, threshold: 0.6, trials: {count: 3, strategy: pass_at_k}}
tests:
  - {id: one, criteria: Good, input: Hi, assertions: [{type: contains, value: a}]}
  - {id: two, criteria: Good, input: Hi, assertions: [{type: contains, value: a}],
     execution: {threshold: 0.9}}
"""
    snapshot = read(repository(tmp_path, "    provider: openai\n    model: m\n", suite))
    assert snapshot.problems == ()
    found = {one.name: one for one in snapshot.catalogue.evals}
    usual, strict = found["evals.suite"], found["evals.suite.mine.from-0.9"]
    assert (usual.execution.parallel, usual.execution.reps_per_fixture) == (7, 3)
    assert (usual.scoring.model.name, usual.scoring.pass_score) == ("weighted", 0.6)
    assert strict.scoring.pass_score == 0.9
    assert (usual.fixtures, strict.fixtures) == (("evals.suite-one",), ("evals.suite-two",))


ECHO = """\
import sys
from pathlib import Path
prompt, output, *files = sys.argv[1:]
Path(output).write_text(prompt + "".join(" " + Path(name).read_text().strip() for name in files))
"""

ASKED = """\
execution: {target: mine}
tests:
  - id: told
    criteria: Says it all
    input:
      - {role: system, content: [{type: file, value: rules.md}]}
      - {role: user, content: "it's $HOME"}
    assertions:
      - {type: contains, value: "@[System]:"}
      - {type: contains, value: "it's $HOME"}
      - {type: contains, value: Be kind}
"""


@states("`{PROMPT}`, `{PROMPT_FILE}`, `{FILES}` and `{OUTPUT_FILE}` are filled in, quoted")
@states("`files_format` says how each file stands in `{FILES}`")
@states("Several messages are told with `@[Role]:` before each")
@states("The answer is read from `{OUTPUT_FILE}`: JSON with `output_messages` or `text`, or text")
@states(
    "`{EVAL_ID}` is the case's id",
    differs="it tells questions apart, but names no case: a program could know the answers by it",
)
@states("`{ATTEMPT}` counts retries", differs="it is always 0: the gate repeats whole trials")
def test_a_command_line_is_run(tmp_path: Path) -> None:
    body = "    provider: cli\n    command: python3 echo.py {PROMPT} {OUTPUT_FILE} {FILES}\n"
    repo = repository(
        tmp_path, body, ASKED, **{"evals/echo.py": ECHO, "evals/rules.md": "Be kind.\n"}
    )
    done = gateval(repo, "run", "evals.suite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1/1 trials: 1 pass" in done.stderr
