"""Local runs: what a judge said here of an Agent that rules answer for is not paid again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateval.adapters.store import stored_trials
from tests.helpers.calibrations import verdict
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, FIXTURES, build_shop
from tests.servers.model_server import ModelServer, reply

KIND = "    - {type: contains, value: Hello}\n    - {type: judge, rubric: Is it kind?}\n"


@pytest.fixture
def judge() -> Iterator[tuple[ModelServer, dict[str, str]]]:
    with provider(lambda call: reply(call, verdict(1.0))) as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    text = FIXTURES.replace("    - {type: contains, value: Hello}\n", KIND)
    repo.write("evals/fixtures.yaml", text)
    repo.write("evals/support-eval.yaml", f"{EVAL}  judge: {{model: openai/gpt-5}}\n")
    repo.commit()
    return repo


def as_it_is(_: Repo, __: Path) -> None:
    pass


def open_to_others(_: Repo, run: Path) -> None:
    run.chmod(0o777)


def with_a_store_open_to_others(_: Repo, run: Path) -> None:
    (run / "trials").chmod(0o777)


def brought_by_a_change(repo: Repo, _: Path) -> None:
    repo.git("add", "--force", ".gateval/results")


def of_another_version(_: Repo, run: Path) -> None:
    plan = json.loads((run / "plan.v1.json").read_text())
    (run / "plan.v1.json").write_text(json.dumps({**plan, "engine": "0" * 64}))


def with_a_forged_pass(__: Repo, run: Path) -> None:
    """As an earlier version stored it: assertions that do not say what the trial says."""
    trial = stored_trials(run, "")[0]
    for one in (run / "trials").iterdir():
        one.unlink()
    (run / "trials").rmdir()
    said = json.loads(trial.model_dump_json()) | {"outcome": "pass", "assessments": []}
    (run / "trials.jsonl").write_text(json.dumps(said) + "\n")


@pytest.mark.parametrize(
    ("change", "options", "asked"),
    [
        (as_it_is, (), 0),
        (as_it_is, ("--no-cache",), 1),
        (open_to_others, (), 1),
        (with_a_store_open_to_others, (), 1),
        (brought_by_a_change, (), 1),
        (of_another_version, (), 1),
        (with_a_forged_pass, (), 1),
    ],
)
def test_a_judge_is_asked_again_unless_the_store_is_ones_own(
    shop: Repo,
    judge: tuple[ModelServer, dict[str, str]],
    change: Callable[[Repo, Path], None],
    options: tuple[str, ...],
    asked: int,
) -> None:
    server, environ = judge
    first = gateval(shop, "run", "support-eval", **environ)
    assert (first.returncode, len(server.calls)) == (0, 1), first.stderr
    (run,) = (shop.path / ".gateval/results").glob("2*")
    change(shop, run)
    again = gateval(shop, "run", "support-eval", *options, **environ)
    assert (again.returncode, len(server.calls) - 1) == (0, asked), again.stderr
    said = f"1 judged in run {run.name} count here: rules answer for the Agent"
    assert (said in " ".join(again.stdout.split())) is not asked
    newest = max((shop.path / ".gateval/results").glob("2*"))
    assert len(stored_trials(newest, "")) == 2


def test_a_rubric_that_was_edited_is_judged(
    shop: Repo, judge: tuple[ModelServer, dict[str, str]]
) -> None:
    server, environ = judge
    gateval(shop, "run", "support-eval", **environ)
    for path, old, new in (
        ("evals/fixtures.yaml", "Is it kind?", "Is it polite?"),
        ("agents/prompts/support.md", "first", "early"),
        (".gateval/scripted/support.yaml", "Hello! How", "Hello, how"),
        ("evals/support-eval.yaml", "gpt-5", "gpt-5-mini"),
    ):
        shop.write(path, (shop.path / path).read_text().replace(old, new))
        before = len(server.calls)
        ended = gateval(shop, "run", "support-eval", **environ)
        assert (ended.returncode, len(server.calls) - before) == (0, 1), path + ended.stderr


def test_what_a_judge_gave_no_verdict_on_is_asked_again_though_it_failed_anyway(shop: Repo) -> None:
    fixtures = shop.path / "evals/fixtures.yaml"
    fixtures.write_text(fixtures.read_text().replace("value: Hello", "value: Farewell"))
    told = ["I cannot say."]
    with provider(lambda call: reply(call, told[-1])) as (server, environ):
        first = gateval(shop, "run", "support-eval", **environ)
        told.append(verdict(1.0))
        before = len(server.calls)
        again = gateval(shop, "run", "support-eval", **environ)
        assert (first.returncode, again.returncode) == (1, 1), again.stderr
        assert len(server.calls) - before == 1
        third = gateval(shop, "run", "support-eval", **environ)
        assert (third.returncode, len(server.calls) - before) == (1, 1), third.stderr
