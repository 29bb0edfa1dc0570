"""`gateval doctor` in real clones, and against a GitHub that answers as the real one."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.demo import WITHOUT_RIGHTS, gate
from tests.helpers.command import ROOT, environment, gateval
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always

if TYPE_CHECKING:
    from tests.servers.github.server import GitHubServer
    from tests.servers.github.state.protection import Rule

SECRET = "ghs-not-to-be-shown"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository that `init` has set up."""
    made = Repo(tmp_path / "new")
    assert gateval(made, "init").returncode == 0
    made.commit()
    return made


def lines(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The health of each topic; of several lines on one, the last."""
    found = re.findall(
        r"^(ok|problem|unknown)\s+(keys here|keys in CI|audit log|\S+)", done.stdout, re.M
    )
    return {topic: health for health, topic in found}


def test_without_a_token_it_says_what_it_cannot_see(repo: Repo) -> None:
    done = gateval(repo, "doctor", "--repository", "acme/shop")
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines(done) == {
        "gateval": "ok",
        "git": "ok",
        "isolation": "ok",
        "history": "ok",
        "manifests": "ok",
        "workflow": "ok",
        "permissions": "ok",
        "labels": "ok",
        "time": "ok",
        "keys here": "ok",
        "GitHub": "unknown",
    }
    assert "Set GITHUB_TOKEN or GH_TOKEN" in done.stdout
    assert "runs on labels, and may record them" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "sentence", "code"),
    [
        (", labeled, unlabeled]", "]", "no run starts on labeled or unlabeled", 0),
        ("contents: write", "contents: read", "For labels, add `contents: write`", 1),
    ],
)
def test_what_labels_need_is_noted(
    repo: Repo, old: str, new: str, sentence: str, code: int
) -> None:
    text = (repo.path / WORKFLOW).read_text()
    assert old in text
    repo.write(WORKFLOW, text.replace(old, new))
    done = gateval(repo, "doctor")
    assert done.returncode == code, done.stdout
    assert sentence in done.stdout


def test_problems_have_a_next_step_and_an_exit_code(tmp_path: Path) -> None:
    bare = Repo(tmp_path / "bare")
    bare.write("a.yaml", "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: x}\nspec: {}\n")
    bare.commit()
    bare.git("branch", "-m", "work")
    done = gateval(bare, "doctor")
    assert done.returncode == 1
    assert (
        lines(done)["history"] == lines(done)["manifests"] == lines(done)["workflow"] == "problem"
    )
    assert "gateval validate" in done.stdout
    assert "gateval init" in done.stdout
    assert "git config init.defaultBranch BRANCH" in done.stdout
    bare.git("config", "init.defaultBranch", "work")
    assert lines(gateval(bare, "doctor"))["history"] == "ok"


def test_before_the_first_commit(tmp_path: Path) -> None:
    done = gateval(Repo(tmp_path / "new"), "doctor")
    assert done.returncode == 1
    assert "the current branch has no commit yet.\n" in done.stdout
    assert "Commit something first." in done.stdout


WORKFLOW = ".github/workflows/gateval.yml"


SAMPLES = sorted((ROOT / "examples/workflows").glob("*.yml"))


@pytest.mark.parametrize(
    "samples",
    some_always([SAMPLES, *([path] for path in SAMPLES)], 4),
    ids=lambda found: "all" if len(found) > 1 else found[0].name,
)
def test_it_finds_nothing_wrong_with_our_samples(repo: Repo, samples: list[Path]) -> None:
    """Alone beside the workflow for pull requests, and all of them together."""
    for path in samples:
        repo.write(f".github/workflows/{path.name}", path.read_text("utf-8"))
    if len(samples) > 1 or samples[0].name == "gate.yml":
        (repo.path / WORKFLOW).unlink()
    repo.commit()
    done = gateval(repo, "doctor", "--repository", "acme/shop")
    assert done.returncode == 0, done.stdout
    for path in samples:
        assert path.name in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("  evals:", "  gateval:", "a job is named gateval, as the check run of the gate is"),
        (
            "        env:",
            "        with: {max-paralel: 4}\n        env:",
            'Did you mean "max-parallel"?',
        ),
        ("permissions: {}", "permissions: {", "gateval.yml:"),
        (
            "timeout-minutes: 60",
            "timeout-minutes: 54",
            "GitHub ends the job after 54 minutes, and the gate its run after 50; cut off",
        ),
        (
            "        env:",
            "        with: {max-minutes: 58}\n        env:",
            "Let `timeout-minutes` be at least 63",
        ),
    ],
)
def test_workflows_that_do_not_mean_what_they_say(
    repo: Repo, old: str, new: str, sentence: str
) -> None:
    agent = repo.path / "agents/assistant/agent.yaml"
    agent.write_text(agent.read_text().replace("scripted/first", "openai/gpt-5-mini"))
    (repo.path / WORKFLOW).unlink()
    assert gateval(repo, "init").returncode == 0
    text = (repo.path / WORKFLOW).read_text()
    assert lines(gateval(repo, "doctor"))["workflow"] == "ok"
    assert old in text
    repo.write(WORKFLOW, text.replace(old, new))
    done = gateval(repo, "doctor")
    assert done.returncode == 1
    assert sentence in done.stdout


def test_a_repository_that_cannot_be_one(repo: Repo) -> None:
    done = gateval(repo, "doctor", "--repository", "shop", GH_TOKEN=SECRET)
    assert done.returncode == 1
    assert '"shop" is no repository on GitHub.' in done.stdout
    assert "Write it as OWNER/NAME" in done.stdout
    assert SECRET not in done.stdout
    nowhere = gateval(repo, "doctor")
    assert nowhere.returncode == 0, nowhere.stdout
    assert lines(nowhere)["GitHub"] == "unknown"


def test_it_says_what_holds_candidates_here(repo: Repo) -> None:
    done = subprocess.run(
        [*WITHOUT_RIGHTS, *gate(), "doctor"] if os.geteuid() == 0 else [*gate(), "doctor"],
        cwd=repo.path,
        env=environment(repo),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "same user as the gate" in done.stdout
    assert "not promised" in done.stdout
    if os.geteuid() == 0:
        refused = gateval(repo, "doctor", GATEVAL_CANDIDATE_USERS="none")
        assert lines(refused)["isolation"] == "problem"
        assert "the gate runs as root" in refused.stdout
    wrong = gateval(repo, "doctor", GATEVAL_CANDIDATE_USERS="some")
    assert lines(wrong)["isolation"] == "problem"


def test_outside_a_repository(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "a")
    (tmp_path / "b").mkdir()
    repo.path = tmp_path / "b"
    done = gateval(repo, "doctor")
    assert done.returncode == 1
    assert lines(done) == {"gateval": "ok", "repository": "problem"}


def test_a_key_that_ci_does_not_hand_on(repo: Repo) -> None:
    agent = repo.path / "agents/assistant/agent.yaml"
    agent.write_text(agent.read_text().replace("scripted/first", "openai/gpt-5-mini"))
    done = gateval(repo, "doctor", GITHUB_ACTIONS="true")
    assert done.returncode == 1
    assert lines(done)["keys here"] == lines(done)["keys in CI"] == "problem"
    assert "secrets.OPENAI_API_KEY" in done.stdout


def test_an_address_that_ci_does_not_hand_on(repo: Repo) -> None:
    agent = repo.path / "agents/assistant/agent.yaml"
    agent.write_text(agent.read_text().replace("scripted/first", "ollama/llama3"))
    done = gateval(repo, "doctor", OLLAMA_BASE_URL="http://127.0.0.1:11434/v1")
    assert done.returncode == 1, done.stdout
    assert lines(done)["keys in CI"] == "problem"
    assert "Add `OLLAMA_BASE_URL: ${{ vars.OLLAMA_BASE_URL }}`" in done.stdout


def ask(
    repo: Repo, github: GitHubServer, token: str, *options: str, command: str = "doctor"
) -> subprocess.CompletedProcess[str]:
    return gateval(
        repo,
        command,
        *options,
        GITHUB_REPOSITORY="acme/shop",
        GITHUB_TOKEN=token,
        GITHUB_API_URL=github.api_url,
    )


def test_github_knows_which_check_is_required(repo: Repo, github_server: GitHubServer) -> None:
    from tests.servers.github.state.protection import Protection, RequiredCheck, Rule, Ruleset

    there = github_server.world.repository("acme/shop")
    token = github_server.world.workflow_token(
        there, contents="read", pull_requests="write", checks="write"
    )
    done = ask(repo, github_server, token)
    assert done.returncode == 1
    assert "main does not require the check gateval" in done.stdout

    there.protections["main"] = Protection(checks=(RequiredCheck("evals"),))
    assert "main requires evals, which is the job" in ask(repo, github_server, token).stdout

    anybody = required("gateval")
    there.rulesets.append(Ruleset(7, "gate", ("main",), (anybody,)))
    done = ask(repo, github_server, token)
    assert done.returncode == 1, done.stdout
    assert "main requires the check gateval from any source: whoever may push" in done.stdout

    there.rulesets[:] = [Ruleset(7, "gate", ("main",), (required("gateval", 4711),))]
    done = ask(repo, github_server, token)
    assert done.returncode == 1, done.stdout
    assert "from the App 4711, and the workflow's token writes as GitHub Actions" in done.stdout

    there.rulesets[:] = [Ruleset(7, "gate", ("main",), (required("gateval", 15_368),))]
    there.protections["main"] = Protection(checks=(RequiredCheck("gateval"),))
    done = ask(repo, github_server, token)
    assert done.returncode == 0, done.stdout
    assert "main requires the check gateval from GitHub Actions." in done.stdout
    assert token not in done.stdout + done.stderr
    assert "No ruleset keeps gateval-audit from force pushes and deletion" in done.stdout
    kept = (Rule("non_fast_forward"), Rule("deletion"))
    there.rulesets.append(Ruleset(8, "audit", ("gateval-audit",), kept))
    done = ask(repo, github_server, token)
    assert "A ruleset keeps gateval-audit as it was written." in done.stdout


def required(name: str, app: int | None = None) -> Rule:
    """The rule of a ruleset that requires a check, from an App or from anybody."""
    from tests.servers.github.state.protection import Rule

    check = {"context": name} if app is None else {"context": name, "integration_id": app}
    parameters = {"required_status_checks": [check], "strict_required_status_checks_policy": False}
    return Rule("required_status_checks", parameters)


def test_classic_protection_may_name_the_source_too(
    repo: Repo, github_server: GitHubServer
) -> None:
    from tests.servers.github.state.protection import Protection, RequiredCheck

    there = github_server.world.repository("acme/shop")
    token = github_server.world.workflow_token(
        there, contents="read", pull_requests="write", checks="write"
    )
    for app, sentence in ((15_368, "from GitHub Actions."), (None, "from any source")):
        there.protections["main"] = Protection(checks=(RequiredCheck("gateval", app),))
        assert sentence in ask(repo, github_server, token).stdout


def test_a_merge_queue_needs_a_job_that_hears_of_it(
    repo: Repo, github_server: GitHubServer
) -> None:
    from tests.servers.github.state.protection import Rule, Ruleset

    there = github_server.world.repository("acme/shop")
    token = github_server.world.workflow_token(
        there, contents="read", pull_requests="write", checks="write"
    )
    queue = Rule(
        "merge_queue",
        {
            "check_response_timeout_minutes": 60,
            "grouping_strategy": "ALLGREEN",
            "max_entries_to_build": 5,
            "max_entries_to_merge": 5,
            "merge_method": "MERGE",
            "min_entries_to_merge": 1,
            "min_entries_to_merge_wait_minutes": 5,
        },
    )
    there.rulesets.append(Ruleset(7, "gate", ("main",), (required("gateval", 15_368), queue)))
    done = ask(repo, github_server, token)
    assert done.returncode == 1, done.stdout
    assert "main has a merge queue, and no job runs on merge_group" in done.stdout
    text = (ROOT / "examples/workflows/merge-queue.yml").read_text("utf-8")
    repo.write(".github/workflows/merge-queue.yml", text)
    done = ask(repo, github_server, token)
    assert done.returncode == 0, done.stdout


def test_a_token_that_github_does_not_know(repo: Repo, github_server: GitHubServer) -> None:
    github_server.world.repository("acme/shop")
    done = ask(repo, github_server, SECRET)
    assert done.returncode == 1, done.stdout
    assert lines(done)["token"] == "problem"
    assert "GitHub does not accept the token" in done.stdout
    assert "Set GITHUB_TOKEN or GH_TOKEN to one that is valid" in done.stdout
    assert SECRET not in done.stdout + done.stderr


def test_a_token_that_may_read_too_little(repo: Repo, github_server: GitHubServer) -> None:
    there = github_server.world.repository("acme/shop", private=True)
    token = github_server.world.workflow_token(there, contents="read", checks="read")
    done = ask(repo, github_server, token)
    assert done.returncode == 1
    assert "pull-requests: read" in done.stdout


def test_a_repository_that_is_not_there_and_a_name_that_cannot_be_one(
    repo: Repo, github_server: GitHubServer
) -> None:
    there = github_server.world.repository("acme/other")
    token = github_server.world.workflow_token(there, contents="read")
    done = ask(repo, github_server, token)
    assert done.returncode == 1
    wrong = gateval(repo, "doctor", "--repository", "../x", GITHUB_TOKEN=SECRET)
    assert "cannot be asked about" in wrong.stdout
    assert SECRET not in wrong.stdout + wrong.stderr


def test_the_gates_labels_on_github(repo: Repo, github_server: GitHubServer) -> None:
    there = github_server.world.repository("acme/shop")
    token = github_server.world.workflow_token(
        there, contents="read", pull_requests="write", checks="write"
    )
    done = ask(repo, github_server, token)
    seen = "acme/shop has no label force-eval-bypass and no label accept-bar-change."
    assert seen in done.stdout
    assert "gh label create force-eval-bypass --repo acme/shop --color" in done.stdout
    there.label("Force-Eval-Bypass")
    assert "has no label accept-bar-change." in ask(repo, github_server, token).stdout

    fixed = ask(repo, github_server, token, "--fix").stdout
    assert "force-eval-bypass and accept-bar-change (accept-bar-change made now)." in fixed
    assert set(there.labels) == {"force-eval-bypass", "accept-bar-change"}
    assert there.labels["accept-bar-change"].description
    assert "made now" not in ask(repo, github_server, token, "--fix").stdout


def test_a_token_that_may_make_no_labels(repo: Repo, github_server: GitHubServer) -> None:
    there = github_server.world.repository("acme/shop")
    token = github_server.world.workflow_token(there, contents="read", pull_requests="read")
    done = ask(repo, github_server, token, "--fix")
    assert "unknown  labels" in done.stdout
    said = " ".join(done.stdout.split())
    assert "The token may not make the label force-eval-bypass" in said
    assert "the gate needs the permission `issues: write`" in said


def test_a_folder_of_layers_that_others_may_write_is_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.txt", "x")
    repo.commit()
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    assert "is nobody else's to write" in gateval(repo, "doctor", GATEVAL_LAYERS=str(kept)).stdout
    kept.chmod(0o777)
    done = gateval(repo, "doctor", GATEVAL_LAYERS=str(kept))
    assert done.returncode == 1
    assert "GATEVAL_LAYERS is not used: others may write to" in done.stdout


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        ({"XDG_STATE_HOME": "linked"}, 1, "layers.key is a link"),
        ({"XDG_STATE_HOME": "repo/state"}, 1, "in the repository: set XDG_STATE_HOME"),
        ({"GATEVAL_LAYERS": "repo"}, 1, "git tracks files in it"),
        ({"GATEVAL_LAYERS": "shared"}, 1, "which holds other things, too"),
        ({"GATEVAL_LAYERS_KEY": "short"}, 1, "has fewer than 32 characters"),
        ({"CI": "true"}, 0, "GATEVAL_LAYERS_KEY is not set"),
    ],
)
def test_a_folder_of_layers_that_runs_would_not_use_is_told(
    repo: Repo, tmp_path: Path, extra: dict[str, str], code: int, said: str
) -> None:
    assert gateval(repo, "init").returncode == 0
    repo.commit()
    (tmp_path / "linked/gateval").mkdir(parents=True)
    (tmp_path / "linked/gateval/layers.key").symlink_to(tmp_path / "other")
    (tmp_path / "shared/things").mkdir(parents=True)
    (tmp_path / "shared").chmod(0o775)
    places = {
        name: str(repo.path if word == "repo" else tmp_path / word.replace("repo", repo.path.name))
        for name, word in {"GATEVAL_LAYERS": "kept", **extra}.items()
        if name in {"GATEVAL_LAYERS", "XDG_STATE_HOME"}
    }
    done = gateval(repo, "doctor", **{**extra, **places})
    assert done.returncode == code, done.stdout
    assert said in done.stdout
    assert not (tmp_path / "kept").exists()
