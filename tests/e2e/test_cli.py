"""The command line as a user meets it, with right and wrong input."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from examples.demo import gate
from tests.helpers import stored
from tests.helpers.command import ROOT, environment, gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, FIXTURES, PROMPT, build_shop
from tests.helpers.sinks import leaks
from tests.helpers.tiers import some_always


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def regress(shop: Repo) -> None:
    """Make the Agent refund without asking."""
    shop.write("agents/prompts/support.md", PROMPT.replace("ask for the reason", "be quick"))
    shop.commit()


def test_check_fails_on_a_regression_and_stores_everything(shop: Repo, tmp_path: Path) -> None:
    regress(shop)
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 1, done.stderr
    assert "refund-asks-why" in done.stdout
    assert "4/4 trials" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comment.md",
        "decision.v1.json",
        "gateval.sarif",
        "junit.xml",
        "plan.v1.json",
        "report.html",
        "results.v1.json",
        "run.v1.json",
        "summary.txt",
        "trials",
    ]
    decision = json.loads((tmp_path / "out/decision.v1.json").read_text())
    assert (decision["verdict"], decision["exit_code"]) == ("fail", 1)
    assert shop.status() == b""


def test_check_passes_when_nothing_got_worse(shop: Repo) -> None:
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 0, done.stderr
    assert shop.status() == b""


def test_check_passes_clearly_when_there_is_nothing_to_evaluate(shop: Repo) -> None:
    shop.write("README.md", "Better.\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 0
    assert "Nothing to evaluate" in done.stdout


def test_head_and_base_are_one_commit(shop: Repo) -> None:
    done = gateval(shop, "plan", "--base", "main", "--head", "main")
    assert done.returncode == 0
    assert "head and base are the same commit" in done.stdout


@pytest.mark.parametrize("stored", ["out", "out/results.v1.json"])
def test_report_gives_the_bytes_of_check(shop: Repo, tmp_path: Path, stored: str) -> None:
    regress(shop)
    checked = gateval(shop, "check", "--results", str(tmp_path / "out"))
    reported = gateval(shop, "report", str(tmp_path / stored))
    assert reported.returncode == checked.returncode == 1
    assert reported.stdout == checked.stdout
    again = gateval(shop, "report", str(tmp_path / stored), "--output", str(tmp_path / "again"))
    assert again.returncode == 1
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes(), path.name
    comment = gateval(shop, "report", str(tmp_path / stored), "--format", "markdown")
    assert comment.stdout == (tmp_path / "out/comment.md").read_text()


def untimed(comment: Path) -> str:
    """The comment without what a clock said."""
    timed = re.compile(
        r"[0-9.]+ s an answer|(?<=\| )[0-9.]+ s(?= \|)|^.* the time of base .*\n", re.MULTILINE
    )
    return timed.sub("", comment.read_text())


def test_two_checks_give_the_same_comment(shop: Repo, tmp_path: Path) -> None:
    regress(shop)
    for name in ("one", "two"):
        apart = str(tmp_path / f"memory-{name}")  # else what the first found would stand
        gateval(shop, "check", "--results", str(tmp_path / name), GATEVAL_FINDINGS=apart)
    assert untimed(tmp_path / "one/comment.md") == untimed(tmp_path / "two/comment.md")
    one, two = ((tmp_path / name / "junit.xml").read_text() for name in ("one", "two"))
    timed = re.compile(r' time="[0-9.]+"')
    assert timed.sub("", one) == timed.sub("", two)
    assert len(timed.findall(one)) == len(timed.findall(two)) > 0


def test_plan_then_run_is_check(shop: Repo, tmp_path: Path) -> None:
    regress(shop)
    planned = gateval(shop, "plan", "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["version"] == "plan.v1"
    ran = gateval(
        shop, "run", "--plan", "-", "--results", str(tmp_path / "ran"), stdin=planned.stdout
    )
    assert ran.returncode == 1, ran.stderr
    checked = gateval(shop, "check", "--results", str(tmp_path / "checked"))
    took = re.compile(r" in [0-9.]+ s$|[0-9.]+ s an answer|^.* the time of base .*\n", re.MULTILINE)
    assert took.sub("", ran.stdout) == took.sub("", checked.stdout)
    assert untimed(tmp_path / "ran/comment.md") == untimed(tmp_path / "checked/comment.md")


def test_plan_tells_what_would_run_and_why(shop: Repo) -> None:
    regress(shop)
    done = gateval(shop, "plan")
    assert done.returncode == 0
    assert "support-eval" in done.stdout
    assert "agents/prompts/support.md" in done.stdout


def test_run_measures_named_evals_on_one_revision(shop: Repo) -> None:
    done = gateval(shop, "run", "support-eval", "--fixture", "greets", "--rev", "main")
    assert done.returncode == 0, done.stderr
    assert "Running 1 trial.\n" in done.stderr
    assert "1/1 trials" in done.stderr
    assert (
        f"gateval run support-eval --fixture greets --rev {shop.id('main')[:12]}\n" in done.stdout
    )


def test_uncommitted_changes_are_announced(shop: Repo) -> None:
    shop.write("agents/prompts/support.md", "Uncommitted.\n")
    done = gateval(shop, "plan")
    assert "working tree" in done.stderr
    assert gateval(shop, "plan", "--head", "HEAD").stdout.startswith("Nothing to evaluate")


WRONG = {
    "unknown command": (["chekc"], 2, "chekc"),
    "unknown option": (["check", "--bas", "x"], 2, "--base"),
    "unknown revision": (["check", "--base", "nowhere"], 2, "nowhere"),
    "empty base": (["check", "--base", ""], 2, "An empty name"),
    "empty base of a plan": (["plan", "--base", ""], 2, "An empty name"),
    "empty head": (["plan", "--head", ""], 2, "An empty name"),
    "empty revision": (["run", "support-eval", "--rev", ""], 2, "An empty name"),
    "option as revision": (["plan", "--base", "--upload-pack=x"], 2, "--upload-pack"),
    "unknown eval": (["run", "suport-eval"], 2, 'Did you mean "support-eval"?'),
    "unknown fixture": (["run", "support-eval", "--fixture", "greet"], 2, 'Did you mean "greets"?'),
    "no eval": (["run"], 2, "Name at least one Eval"),
    "plan and eval": (["run", "x", "--plan", "-"], 2, "--plan stands alone"),
    "plan is missing": (["run", "--plan", "nowhere.json"], 2, "nowhere.json"),
    "plan is no JSON": (["run", "--plan", "README.md"], 2, "JSON"),
    "results are missing": (["report", "nowhere"], 2, "nowhere"),
    "results are another folder": (["report", "agents"], 2, "agents is not the folder of a run"),
    "unknown kind": (["schema", "Agnt"], 2, 'Did you mean "Agent"?'),
    "path outside": (["validate", "../elsewhere"], 2, "outside the repository"),
    "path not tracked": (["validate", "nowhere.yaml"], 2, "nowhere.yaml"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_gets_a_sentence(shop: Repo, case: str) -> None:
    arguments, code, word = WRONG[case]
    done = gateval(shop, *arguments)
    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_a_repository(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "gone")
    repo.delete(".git")
    done = gateval(repo, "check")
    assert done.returncode == 3
    assert "repository" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    done = gateval(Repo(tmp_path / "new"), "check")
    assert done.returncode in {2, 3}
    assert "Traceback" not in done.stderr
    assert "commit" in done.stderr


def test_validate_needs_no_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    empty = (
        "0 Agents, 0 Evals, 0 fixtures, 0 calibrations: valid.\n"
        "There is nothing to evaluate here yet. `gateval init` writes the first manifests.\n"
    )
    assert gateval(repo, "validate").stdout == empty
    repo.write("a.yaml", "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: x}\nspec: {}\n")
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert "a.yaml:4:" in done.stdout


def test_validate_tells_everything_at_once(shop: Repo) -> None:
    shop.write("agents/support.yaml", AGENT.replace("models: [", "models: {").replace("]", "}", 1))
    shop.write(
        "evals/fixtures.yaml",
        FIXTURES.replace("severity: high", "severty: high").replace("contains", "contians"),
    )
    done = gateval(shop, "validate")
    assert done.returncode == 2
    assert "evals/fixtures.yaml:5:3: spec.severty: " in done.stdout
    assert 'Did you mean "severity"?' in done.stdout
    assert 'Did you mean "contains"?' in done.stdout
    assert "agents/support.yaml:6" in done.stdout
    only = gateval(shop, "validate", "agents")
    assert only.returncode == 2
    assert "evals/" not in only.stdout.split("\n", maxsplit=1)[0]


def test_validate_says_when_a_file_that_is_named_is_no_manifest(shop: Repo) -> None:
    shop.write("notes.yaml", "a: 1\n")
    done = gateval(shop, "validate", "notes.yaml")
    assert done.returncode == 0
    assert "warning: notes.yaml holds no manifest: nothing in it was checked." in done.stdout
    for path in ("agents/support.yaml", ".gateval/scripted/support.yaml", "agents"):
        assert "warning" not in gateval(shop, "validate", path).stdout
    shop.write("agents/support.yaml", AGENT.replace("gateval/v1", "gatevl/v1"))
    done = gateval(shop, "validate", "agents/support.yaml")
    assert done.returncode == 2, done.stdout
    assert 'Did you mean "gateval/v1"?' in done.stdout


def test_validate_warns_only_of_what_is_asked_and_can_be_known(shop: Repo) -> None:
    unused = (
        FIXTURES.split("---")[0]
        .replace("name: ", "name: unused-")
        .replace("labels:", "annotations:")
    )
    shop.write("other/unused.yaml", unused[: unused.rindex("\n") + 1])
    assert "warning: other/unused.yaml:" in gateval(shop, "validate").stdout
    assert "warning: other/unused.yaml:" in gateval(shop, "validate", "other").stdout
    assert "warning" not in gateval(shop, "validate", "agents").stdout
    shop.write("agents/support.yaml", AGENT.replace("models:", "modles: [", 1))
    assert "warning" not in gateval(shop, "validate").stdout


def test_validate_is_content_with_a_good_repository(shop: Repo) -> None:
    done = gateval(shop, "validate")
    assert done.returncode == 0, done.stdout
    assert done.stdout == "1 Agent, 1 Eval, 2 fixtures, 0 calibrations: valid.\n"


def test_invalid_manifests_stop_check_before_anything_runs(shop: Repo) -> None:
    shop.write("evals/fixtures.yaml", FIXTURES.replace("toolCalled", "toolCaled"))
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 2
    assert 'Did you mean "toolCalled"?' in done.stderr
    assert not (shop.path / ".gateval/results").exists()


def test_a_missing_key_stops_check_before_anything_runs(shop: Repo) -> None:
    shop.write("agents/support.yaml", AGENT.replace("scripted/support", "openai/gpt-5"))
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 3
    assert "gateval: openai/gpt-5 needs OPENAI_API_KEY.\n" in done.stderr
    assert not (shop.path / ".gateval/results").exists()


def test_schema_lists_and_prints(shop: Repo) -> None:
    kinds = gateval(shop, "schema").stdout.split()
    assert "EvalFixture" in kinds
    assert "results.v1" in kinds
    for kind in kinds:
        assert json.loads(gateval(shop, "schema", kind).stdout)["$schema"].endswith(
            "2020-12/schema"
        )


def test_a_crashed_run_is_reported_as_incomplete(shop: Repo, tmp_path: Path) -> None:
    regress(shop)
    gateval(shop, "check", "--results", str(tmp_path / "out"))
    lines = stored.log(tmp_path / "out").splitlines(keepends=True)
    kept = [line for line in lines if '"fixture":"greets"' in line]
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    (crashed / "plan.v1.json").write_bytes((tmp_path / "out/plan.v1.json").read_bytes())
    (crashed / "trials.jsonl").write_text("".join(kept) + lines[0][:40])
    done = gateval(shop, "report", str(crashed))
    assert done.returncode == 3
    assert "incomplete" in done.stdout.lower()
    assert "refund-asks-why" in done.stdout


def test_a_forged_trial_is_refused(shop: Repo, tmp_path: Path) -> None:
    regress(shop)
    gateval(shop, "check", "--results", str(tmp_path / "out"))
    results = tmp_path / "out/results.v1.json"
    forged = json.loads(results.read_text())
    forged["trials"][0]["key"]["fixture"] = "invented"
    results.write_text(json.dumps(forged))
    done = gateval(shop, "report", str(results))
    assert done.returncode == 2
    assert "is not planned" in done.stderr


@pytest.mark.parametrize("field", ["commit", "tree"])
def test_a_plan_must_name_a_commit_of_this_repository(shop: Repo, field: str) -> None:
    regress(shop)
    plan = json.loads(gateval(shop, "plan", "--json").stdout)
    plan["head"][field] = plan["base"][field]
    done = gateval(shop, "run", "--plan", "-", stdin=json.dumps(plan))
    assert done.returncode == 2
    assert "not so in this repository" in done.stderr
    assert not (shop.path / ".gateval/results").exists()


def shell(shop: Repo, command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in which `gateval` stands for ours."""
    line = f'gateval() {{ {shlex.join(gate())} "$@"; }}; {command}'
    return subprocess.run(
        ["sh", "-c", line],
        cwd=shop.path,
        env=environment(shop, **extra),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("redirected", some_always(["<&- >&- 2>&-", "2>&-", "<&- >&-"], 3))
def test_the_decision_stands_where_nobody_listens(shop: Repo, redirected: str) -> None:
    regress(shop)
    done = shell(shop, f"gateval check {redirected}")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("worse", [False, True])
@pytest.mark.parametrize("read", some_always(["trials: ", "Running", "Gateval: "], 3))
def test_the_decision_stands_where_somebody_stops_reading(
    shop: Repo, read: str, *, worse: bool
) -> None:
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    if worse:
        regress(shop)
    line = f"{{ gateval check 2>&1; echo $? >status; }} | grep -q -m 1 '{read}'"
    shell(shop, line)
    status = int((shop.path / "status").read_text())
    assert status in ({1, 3} if worse else {0, 3}), "1 is a decision, and 0 is one"
    if read == "Gateval: ":
        assert status == (1 if worse else 0)


def test_output_that_does_not_get_through_is_no_success(shop: Repo) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = shell(shop, "gateval validate > /dev/full")
    assert done.returncode == 3
    assert "could not be written" in done.stderr


def test_the_locale_changes_no_byte(shop: Repo) -> None:
    regress(shop)
    # Python itself cannot read its path files that way where the clone has letters beyond ASCII.
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0"} if str(ROOT).isascii() else {"LC_ALL": "C.UTF-8"}
    done = shell(shop, "gateval check", **plain, PYTHONIOENCODING="ascii")
    assert done.returncode == 1, done.stderr
    assert "\N{EM DASH}" in done.stdout


def test_a_token_that_an_agent_repeats_is_stored_and_shown_nowhere(
    shop: Repo, tmp_path: Path
) -> None:
    token = "ghs_0123456789abcdefghijKLMNOP"
    said = [
        token,
        base64.b64encode(f"x:{token}".encode()).decode(),
        token[:9] + "\u200b" + token[9:],
    ]
    shop.write(
        ".gateval/scripted/support.yaml",
        json.dumps({"rules": [{"when": {"user": ""}, "reply": f"Here you are: {' '.join(said)}"}]}),
    )
    regress(shop)

    done = gateval(shop, "check", "--results", str(tmp_path / "out"), GITHUB_TOKEN=token)

    assert done.returncode == 1, done.stderr
    written = stored.written(tmp_path / "out")
    assert "[secret removed]" in written["plan.v1.json"]
    assert "[secret removed]" in written["results.v1.json"]
    for text in (*written.values(), done.stdout, done.stderr):
        assert not leaks(text, token)
