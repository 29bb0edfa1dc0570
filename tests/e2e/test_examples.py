"""Every file in `examples/` is run or loaded by a test, and what they say of themselves is true."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from examples.demo import BRANCH, EXAMPLES, build, changed_files, commit, environment, gate, git
from tests.helpers.forked import run_forked

LINK = re.compile(r"\]\(([^)#]+)\)")
FILE_NAME = re.compile(r"(?<!\[)`([\w./-]+\.(?:py|md|yaml|yml|json))`")

DEMO = "test_the_demo_shows_one_of_everything"
VALID = "test_the_manifests_are_valid"
DOCS = "test_a_readme_speaks_of_files_that_exist"
ALONE = "test_base_runs_alone"
DESK = "test_the_desk_refuses"
CASES = "test_each_case_of_a_file_runs"
PLAYGROUND = "test_an_agent_is_judged_by_what_it_leaves"
GITLAB = "test_the_sample_decides_as_one_machine_and_goes_on_from_lost_jobs"
EXPERIMENTS = "test_experiments_score_their_golden_sets"
AGENTV = "test_the_example_is_valid_and_passes"

COVERED = {
    "README.md": DOCS,
    "demo.py": DEMO,
    "agentv/.agentv/targets.yaml": AGENTV,
    "agentv/.gateval/scripted/judge.yaml": AGENTV,
    "agentv/README.md": DOCS,
    "agentv/desk/desk.py": AGENTV,
    "agentv/docs/policy.md": AGENTV,
    "agentv/evals/checks/days.py": AGENTV,
    "agentv/evals/judges/tone.md": AGENTV,
    "agentv/evals/parcels.jsonl": AGENTV,
    "agentv/evals/parcels.yaml": AGENTV,
    "agentv/evals/refunds.yaml": AGENTV,
    "assertions/README.md": DOCS,
    "cases/.gateval/scripted/desk.yaml": CASES,
    "cases/README.md": DOCS,
    "cases/eval.yaml": CASES,
    "cases/refunds.csv": CASES,
    "cases/refunds.yaml": CASES,
    "experiments/.gateval/scripted/librarian.yaml": EXPERIMENTS,
    "experiments/.gateval/scripted/reader.yaml": EXPERIMENTS,
    "experiments/README.md": DOCS,
    "experiments/library/agent.yaml": EXPERIMENTS,
    "experiments/library/experiment.yaml": EXPERIMENTS,
    "experiments/library/feedback.csv": EXPERIMENTS,
    "experiments/library/golden.csv": EXPERIMENTS,
    "experiments/uppercase/experiment.yaml": EXPERIMENTS,
    "experiments/uppercase/scorers/all.py": EXPERIMENTS,
    "experiments/uppercase/task.py": EXPERIMENTS,
    "gitlab/shards.gitlab-ci.yml": GITLAB,
    "playground/README.md": DOCS,
    "playground/desk/agent.yaml": PLAYGROUND,
    "playground/desk/benchmark.yaml": PLAYGROUND,
    "playground/desk/desk.py": PLAYGROUND,
    "playground/desk/evals.yaml": PLAYGROUND,
    "playground/desk/services/labels.py": PLAYGROUND,
    "playground/desk/shop.sql": PLAYGROUND,
    "playground/desk/world/notes/README.txt": PLAYGROUND,
    "playground/desk/world/orders.json": PLAYGROUND,
    "runtimes/README.md": DOCS,
    "frameworks/README.md": DOCS,
    "shop/README.md": DOCS,
    "shop/.github/gateval.yml": VALID,
    "shop/.gateval/scripted/judge.yaml": DEMO,
    "shop/.gateval/scripted/support.yaml": DEMO,
    "shop/.gateval/scripted/tutor.yaml": ALONE,
    "shop/agents/math-tutor/README.md": DOCS,
    "shop/agents/math-tutor/agent.yaml": ALONE,
    "shop/agents/math-tutor/evals.yaml": ALONE,
    "shop/agents/shipping/README.md": DOCS,
    "shop/agents/shipping/agent.py": ALONE,
    "shop/agents/shipping/agent.yaml": ALONE,
    "shop/agents/shipping/evals.yaml": ALONE,
    "shop/agents/support/README.md": DOCS,
    "shop/agents/support/agent.py": DEMO,
    "shop/agents/support/agent.yaml": VALID,
    "shop/agents/support/desk.py": DESK,
    "shop/agents/support/orders.json": DESK,
    "shop/agents/support/serve.py": DEMO,
    "shop/agents/support/evals/eval.yaml": VALID,
    "shop/agents/support/evals/orders.yaml": VALID,
    "shop/agents/support/evals/refunds.yaml": VALID,
    "shop/agents/support/prompts/support.md": DEMO,
    "shop-change/README.md": DOCS,
    "shop-change/agents/math-tutor/agent.yaml": DEMO,
    "shop-change/agents/shipping/agent.py": DEMO,
    "shop-change/agents/support/prompts/support.md": DEMO,
}
"""Each file, and the test that would fail if the file were broken."""

SAMPLES = {
    "workflows": "docs/test_workflows.py",
    "images": "docs/test_workflows.py",
    "assertions": "integration/assertions/test_samples.py",
    "runtimes": "integration/candidates/test_samples.py",
    "frameworks": "integration/candidates/test_frameworks.py",
    "beside": "integration/candidates/test_samples.py",
}
"""Folders of samples, each a file or a folder, and the test that must name every one of them."""


def _files() -> list[str]:
    return sorted(
        path.relative_to(EXAMPLES).as_posix()
        for path in EXAMPLES.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )


def _is_sample(name: str) -> bool:
    folder, _, rest = name.partition("/")
    return folder in SAMPLES and rest != "README.md"


def _gateval(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env, rights = environment(repository.parent), gate()[0] == sys.executable
    return run_forked(arguments, repository, env, seconds=60, rights=rights)


def test_every_file_has_a_test() -> None:
    there = [name for name in _files() if not _is_sample(name)]
    assert there == sorted(COVERED), "Name the new file in COVERED, with the test that uses it."
    here = Path(__file__)
    others = ("test_demo.py", "test_agentv.py", "test_gitlab_shards.py")
    files = (here, *map(here.with_name, others))
    tests = "".join(file.read_text("utf-8") for file in files)
    assert [name for name in set(COVERED.values()) if f"\ndef {name}(" not in tests] == []


def test_every_sample_is_named_by_its_test() -> None:
    for name in filter(_is_sample, _files()):
        folder, sample, *_ = name.split("/")
        test = Path(__file__).parents[1] / SAMPLES[folder]
        assert f'"{sample.removesuffix(".yaml")}"' in test.read_text("utf-8"), name


@pytest.mark.parametrize("name", [name for name in COVERED if COVERED[name] == DOCS])
def test_a_readme_speaks_of_files_that_exist(name: str) -> None:
    folder = (EXAMPLES / name).parent
    text = (EXAMPLES / name).read_text("utf-8")
    for target in LINK.findall(text):
        assert (folder / target).exists(), target
    absent = {"zones.py"}  # the file that the example's author forgot
    for target in set(FILE_NAME.findall(text)) - absent:
        assert (folder / target).exists(), target


def test_the_manifests_are_valid(tmp_path: Path) -> None:
    repository = build(tmp_path)
    for branch in ("main", BRANCH):
        subprocess.run(["git", "checkout", "--quiet", branch], cwd=repository, check=True)
        done = _gateval(repository, "validate")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "3 Agents, 3 Evals, 12 fixtures" in done.stdout


def test_base_runs_alone(tmp_path: Path) -> None:
    repository = build(tmp_path)
    done = _gateval(repository, "run", "support-eval", "shipping-eval", "--rev", "main")
    assert done.returncode == 0, done.stdout + done.stderr
    done = _gateval(repository, "run", "math-tutor-eval", "--rev", "main")
    assert done.returncode == 1, done.stdout + done.stderr


def test_each_case_of_a_file_runs(tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(EXAMPLES / "cases", own)
    git(own, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(own, "Cases", minute=0)
    done = _gateval(own, "validate")
    assert "1 Agent, 1 Eval, 3 fixtures, 0 calibrations: valid." in done.stdout, done.stdout
    done = _gateval(own, "run", "desk-eval")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3/3" in done.stdout, done.stdout
    done = _gateval(own, "run", "desk-eval", "--fixture", "refunds-late")
    assert "1/1" in done.stdout, done.stdout
    (own / "refunds.csv").write_text("id,question,expected\na,hi,goodbye\n", "utf-8")
    done = _gateval(own, "run", "desk-eval", "--fixture", "refunds")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "refunds-a" in done.stdout, done.stdout


def test_experiments_score_their_golden_sets(tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(EXAMPLES / "experiments", own)
    git(own, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(own, "Experiments", minute=0)
    done = _gateval(own, "run", "uppercase-agent")
    assert "exactMatch: 100.00%" in done.stdout, done.stdout + done.stderr
    assert "dummyRelevance: 100.00%" in done.stdout, done.stdout
    done = _gateval(own, "run", "library-answers")
    for name, shown in (("contains", "100.00"), ("wording", "26.89"), ("faithfulness", "100.00")):
        assert f"{name}: {shown}%" in done.stdout, done.stdout + done.stderr
    assert "people: 100.00% (⚪), measured in 2 of 3 rows" in done.stdout, done.stdout
    assert _gateval(own, "calibrate", "library-answers-feedback").returncode == 0
    done = _gateval(own, "judge", "try", "library-answers.sunday")
    assert "The library is closed on Sundays." in done.stdout, done.stdout + done.stderr
    done = _gateval(own, "history", "uppercase-agent", "--plot", str(tmp_path / "scores.svg"))
    assert "exactMatch: 100.00%" in (tmp_path / "scores.svg").read_text("utf-8"), done.stderr


def test_an_agent_is_judged_by_what_it_leaves(tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(EXAMPLES / "playground", own)
    git(own, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(own, "A desk and its playground", minute=0)
    done = _gateval(own, "run", "desk-ships")
    assert done.returncode == 0, done.stdout + done.stderr
    done = _gateval(own, "run", "desk-tasks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "desk-tasks@1: completed; 2 tasks: 2 pass" in done.stdout, done.stdout
    desk, told = own / "desk" / "desk.py", 'print(f"Order {order} is on its way.")'
    desk.write_text(f'import sys\norder = "10482"\n{told}\n', "utf-8")
    done = _gateval(own, "run", "desk-ships")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nothing there" in done.stdout, done.stdout


def test_this_repositorys_own_gate_finds_its_agent_and_passes(tmp_path: Path) -> None:
    root = EXAMPLES.parent
    for name in (".github/gateval.yml", "examples/runtimes/command", "examples/shop/agents"):
        if (root / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / name, tmp_path / "own" / name, ignore=ignore)
        else:
            (tmp_path / "own" / name).parent.mkdir(parents=True)
            shutil.copyfile(root / name, tmp_path / "own" / name)
    git(tmp_path / "own", "init", "--quiet", "--initial-branch=main", "--template=")
    commit(tmp_path / "own", "This repository", minute=0)
    done = _gateval(tmp_path / "own", "validate")
    assert "1 Agent, 1 Eval, 2 fixtures, 0 calibrations: valid." in done.stdout, done.stdout
    done = _gateval(tmp_path / "own", "run", "parcel-desk-eval")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_change_changes_what_is_there() -> None:
    for path in changed_files():
        before, after = EXAMPLES / "shop" / path, EXAMPLES / "shop-change" / path
        assert before.read_bytes() != after.read_bytes()


@pytest.fixture
def desk_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "support_desk", EXAMPLES / "shop/agents/support/desk.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("refund_order", {"order_id": "10391", "reason": "do not fit"}, "cannot be refunded"),
        ("refund_order", {"order_id": "10517", "reason": "too late"}, "cannot be refunded"),
        ("refund_order", {"order_id": "10466"}, "needs reason"),
        ("lookup_order", {"order_id": "99999"}, "no order 99999"),
        ("send_email", {"to": "x@example.com", "subject": "s", "body": "b"}, "not a customer"),
        ("delete_order", {"order_id": "10466"}, "no tool"),
    ],
)
def test_the_desk_refuses(
    desk_module: ModuleType, tmp_path: Path, tool: str, arguments: dict[str, str], why: str
) -> None:
    desk = desk_module.Desk(EXAMPLES / "shop/agents/support/orders.json", tmp_path / "state.json")
    with pytest.raises(desk_module.DeskError, match=why):
        desk.use(tool, arguments)


def test_the_desk_remembers_across_processes(desk_module: ModuleType, tmp_path: Path) -> None:
    orders, state = EXAMPLES / "shop/agents/support/orders.json", tmp_path / "state.json"
    refund = ("refund_order", {"order_id": "10466", "reason": "cracked"})
    desk_module.Desk(orders, state).use(*refund)
    with pytest.raises(desk_module.DeskError, match="refunded already"):
        desk_module.Desk(orders, state).use(*refund)
