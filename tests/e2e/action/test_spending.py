"""What a pull request and a day may spend over all their runs, and those who want to spend more."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateval.app.run.shards import refuse_lost_try
from gateval.domain.plan.spending import MOST_USD, Allowance, RunSpending
from gateval.domain.results.rounds import Joined
from gateval.errors import UsageError
from tests.e2e.test_day_spending import spoiling
from tests.helpers import stored
from tests.helpers.command import ROOT
from tests.helpers.github_shop import GitHubShop
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.reports import make
from tests.helpers.runner import Ended, Job
from tests.helpers.workflow_run import WorkflowWalk
from tests.servers.artifacts import artifact_service
from tests.servers.blob_store import BlobStore
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.github.state.pull import Pull
from tests.servers.model_server import Answer, Call, reply

FIXTURES = 4
PRICE = 0.04025
"""Of one call: 100 tokens at 2.5 dollars a million, 4,000 at 10."""

RUN = 2 * FIXTURES * PRICE
"""What a run takes that measures both sides once: 0.322 dollars."""

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [openai/gpt-4o]
  system: {file: prompts/support.md}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {of: desk}}
  execution: {parallel: 4}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-NUMBER, labels: {of: desk}}
spec:
  input: {type: prompt, payload: {prompt: "Number NUMBER."}}
  assertions: [{type: contains, value: fine}]
"""


class PaidShop(GitHubShop):
    """A shop whose agent asks a model that has a price; `calls` are all that it was asked."""

    def __init__(self, server: GitHubServer, folder: Path) -> None:
        super().__init__(server, folder)
        self.environ: dict[str, str] = {}
        self.calls = 0
        self.delay = 0.0
        self.slow = ""
        self.work.checkout("main")
        for path in ("evals/fixtures.yaml", "evals/support-eval.yaml"):
            self.work.delete(path)
        self.work.write("agents/support.yaml", AGENT)
        fixtures = (FIXTURE.replace("NUMBER", str(number)) for number in range(FIXTURES))
        self.work.write("evals/desk.yaml", EVAL + "".join(fixtures))
        self.push_main()

    def budget(self, text: str) -> str:
        """Write what runs may take on main; return the commit."""
        return self.push_main(**{".github__gateval.yml": f"policy: {{budget: {{{text}}}}}\n"})

    def answer(self, call: Call) -> Answer:
        """Say what each test asks for, dearly."""
        self.calls += 1
        slow = bool(self.slow) and self.slow.encode() in call.raw
        delay = 60 if slow else self.delay
        return reply(call, "That is fine.", usage=(100, 4_000), delay=delay)

    def run(self, pull: Pull, job: Job | None = None, **environ: str) -> Ended:
        """Run the action on a pull request."""
        return (job or self.on_pull(pull)).run_action(inputs={}, **{**self.environ, **environ})

    def pushed(self, pull: Pull, prompt: str) -> Pull:
        """Push another commit to the change."""
        self.commit(prompt)
        self.push()
        return pull

    def entries(self, whose: str) -> list[str]:
        """What stands in an account."""
        anchor = self.work.git("log", "-1", "--format=%H", "main", "--", ".github/gateval.yml")
        checks = self.repo.checks(f"gateval (spent by {whose})", anchor.decode().strip())
        return [re.findall(r"usd=([\d.]+ \w+)", one.text or "")[0] for one in checks]


@pytest.fixture
def paid(github_server: GitHubServer, tmp_path: Path) -> Iterator[PaidShop]:
    shop = PaidShop(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


def told(ended: Ended) -> dict[str, str]:
    """Why each reason says that the run is not complete, by its code."""
    read = json.loads((ended.results / "decision.v1.json").read_text("utf-8"))
    return {one["code"]: one["text"] for one in read["reasons"]}


BOTH = "usd: 0.5, perPullRequest: {usd: 0.7}"


def test_a_pull_request_is_given_no_more_than_the_target_branch_says(paid: PaidShop) -> None:
    paid.budget(BOTH)
    pull = paid.open_pull("Be quick.\n")
    first = paid.run(pull)
    assert first.code == 0, first.log + first.errors
    assert paid.entries("pull request 1") == ["0.322000 over"]
    second = paid.run(paid.pushed(pull, "Be very quick.\n"))
    assert second.code == 0, second.log + second.errors
    third = paid.run(paid.pushed(pull, "Be quickest.\n"))
    assert third.code == 3, third.log
    assert paid.calls * PRICE <= 0.7
    why = " ".join(told(third)["allowance"].split())
    assert "Pull request 1 has $0.644 of its $0.70 (policy.budget.perPullRequest.usd) taken" in why
    assert re.search(r"\((\d+)\.1 \$0\.322; (?!\1\b)\d+\.1 \$0\.322\)", why)
    assert "raise it in the gate config of the target branch" in why
    body = " ".join(pull.comments[0].body.split())
    assert "policy.budget.perPullRequest.usd" in body
    assert "policy.budget.perPullRequest.usd" in " ".join(third.log.split())
    paid.budget("usd: 0.5, perPullRequest: {usd: 2}")
    again = paid.run(pull)
    assert again.code == 0, "the same head, which its budget alone had stopped: " + again.log


def test_a_day_is_given_no_more_whatever_the_pull_request(paid: PaidShop) -> None:
    paid.budget("usd: 0.5, perDay: {usd: 0.5}")
    first = paid.run(paid.open_pull("Be quick.\n", "one"))
    second = paid.run(paid.open_pull("Be quick too.\n", "two"))
    assert (first.code, second.code) == (0, 3), second.log
    assert paid.calls * PRICE <= 0.5
    assert "run it again after 00:00 UTC" in " ".join(told(second)["allowance"].split())


def _deletes_all_records(paid: PaidShop, pull: Pull) -> None:
    git = Repo.at(paid.bare)
    for ref in git.git("for-each-ref", "--format=%(refname)").decode().split():
        if "gateval" in ref:
            git.git("update-ref", "-d", ref)
    pull.comments.clear()
    paid.repo.workflow_runs.clear()


def _another_app_says_what_was_spent(paid: PaidShop, pull: Pull) -> None:
    mallory = paid.server.world.app("mallory-ci")
    for one in list(paid.repo.check_runs.values()):
        if "spent by" in one.name:
            for more, usd in enumerate(("-9.000000", "0.000000", "500.000000")):
                text = f"<!-- gateval:spending v1 run=1.1 usd={usd} over -->"
                other = replace(one.suite, app=mallory)
                forged = replace(one, id=one.id - 900 - more, text=text, suite=other)
                paid.repo.check_runs[forged.id] = forged


def _force_pushes_over_all_that_was_measured(paid: PaidShop, pull: Pull) -> None:
    paid.work.git("checkout", "--quiet", "-B", "change", "main")


def _raises_its_own_budget(paid: PaidShop, pull: Pull) -> None:
    paid.work.checkout("change")
    paid.work.write(".github/gateval.yml", "policy: {budget: {usd: 50}}\n")


@pytest.mark.parametrize(
    "attack",
    [
        _deletes_all_records,
        _another_app_says_what_was_spent,
        _force_pushes_over_all_that_was_measured,
        _raises_its_own_budget,
    ],
)
def test_nothing_in_reach_of_a_change_lowers_what_was_spent(
    paid: PaidShop, attack: Callable[[PaidShop, Pull], None]
) -> None:
    paid.budget("usd: 0.5, perPullRequest: {usd: 0.4}, perDay: {usd: 10}")
    pull = paid.open_pull("Be quick.\n")
    assert paid.run(pull).code == 0
    attack(paid, pull)
    paid.commit("Be very quick.\n")
    paid.work.git("push", "--quiet", "--force", str(paid.bare), "change")
    again = paid.run(pull)
    assert again.code != 0, again.log
    assert "has $0.322 of its $0.40" in told(again)["allowance"]
    assert paid.calls * PRICE <= 0.4


def test_a_run_that_goes_on_counts_what_it_kept_once(paid: PaidShop) -> None:
    """The first one is cancelled with half of its trials, and has uploaded these."""
    paid.budget("usd: 0.5, perPullRequest: {usd: 5}")
    paid.slow = "Number 0."
    pull = paid.open_pull("Be quick.\n")
    may = {"contents": "write", "pull_requests": "write", "checks": "write", "actions": "read"}
    with artifact_service() as service, BlobStore() as store:
        job = paid.on_pull(pull, run=77, token=paid.token(**may))
        run = job.start(inputs={}, **paid.environ, **service.environ)
        deadline = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < deadline:
            folders = list((job.workspace / ".gateval/results").glob("2*"))
            if folders and len(stored.trials(folders[0])) >= 2 * FIXTURES - 2:
                break
            time.sleep(0.05)
        run.send_signal(signal.SIGTERM)
        first = job.end(run)
        assert first.code == 130, first.errors
        known = WorkflowRun(77, "pull_request", "change", pull.head_sha, "x", "acme/shop")
        for number, (name, content) in enumerate(service.kept.items(), start=1):
            known.artifacts.append(Artifact(number, name, content, store.put(content)))
        paid.repo.workflow_runs[77] = known
        paid.slow = ""
        again = paid.on_pull(pull, run=77, attempt=2, token=paid.token(**may))
        second = paid.run(pull, again, **service.environ)
    assert second.code == 0, second.log + second.errors
    assert "measured there count" in pull.comments[0].body
    spent = [float(one.split()[0]) for one in paid.entries("pull request 1")]
    late = 2
    assert sum(spent) <= RUN + late * 0.0411, "those under way were paid twice, and no other"
    assert spent[1] < RUN / 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_is_killed_has_spent_all_that_it_was_given(
    paid: PaidShop, number: signal.Signals
) -> None:
    """One that is cancelled says what it took, and what was under way counts as what it held."""
    paid.budget("usd: 0.5, perPullRequest: {usd: 0.6}")
    pull = paid.open_pull("Be quick.\n")
    paid.delay = 30
    job = paid.on_pull(pull)
    run = job.start(inputs={}, **paid.environ)
    deadline = time.monotonic() + 60
    while paid.calls < FIXTURES and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(number)
    job.end(run)
    job.run_post()
    (entry,) = paid.entries("pull request 1")
    if number is signal.SIGKILL:
        assert entry == "0.500000 open"
    else:
        usd, ended = entry.split()
        assert ended == "over"
        assert float(usd) >= FIXTURES * 0.04, "calls that nobody saw the end of"
    before, paid.delay = paid.calls, 0
    again = paid.run(pull, paid.on_pull(pull, attempt=2))
    left = 0.6 - float(entry.split()[0])
    assert (paid.calls - before) * PRICE <= left
    if number is signal.SIGKILL:
        assert again.code == 3, again.log
        assert "held: it has not ended" in " ".join(told(again)["allowance"].split())


def test_two_jobs_at_once_share_what_there_is(paid: PaidShop) -> None:
    paid.budget("usd: 0.5, perPullRequest: {usd: 0.6}")
    pull = paid.open_pull("Be quick.\n")
    paid.delay = 1
    jobs = [paid.on_pull(pull, run=run) for run in (77, 78)]
    runs = [job.start(inputs={}, **paid.environ) for job in jobs]
    codes = sorted(job.end(run).code for job, run in zip(jobs, runs, strict=True))
    assert paid.calls * PRICE <= 0.6
    assert codes[-1] == 3


CLAIMS = """\
import json, os, sys, urllib.request
asked = json.load(sys.stdin)["prompt"]
body = {"model": "gpt-4o", "messages": [{"role": "user", "content": asked}]}
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)) as got:
    said = json.load(got)["choices"][0]["message"]["content"]
print(json.dumps({"output": said, "usage": {"inputTokens": 0, "outputTokens": 0, "usd": -5}}))
"""


def test_what_a_candidate_says_that_it_spent_counts_for_nothing(paid: PaidShop) -> None:
    agent = AGENT.replace("  system: {file: prompts/support.md}\n", "")
    runtime = "  runtime: {type: command, command: [python3, support.py]}\n"
    paid.work.write("agents/support.yaml", agent + runtime)
    paid.work.write("agents/support.py", CLAIMS)
    paid.budget("usd: 0.5, perPullRequest: {usd: 5}")
    paid.work.branch("change", "main")
    paid.work.write("agents/support.py", CLAIMS + "# changed\n")
    pull = paid.open_pull("Be quick.\n")
    done = paid.run(pull)
    assert paid.calls >= 2 * FIXTURES, done.log + done.errors
    (entry,) = paid.entries("pull request 1")
    assert float(entry.split()[0]) == pytest.approx(paid.calls * PRICE)


def test_a_job_that_can_enter_nothing_spends_nothing(paid: PaidShop) -> None:
    paid.budget(BOTH)
    pull = paid.open_pull("Be quick.\n")
    token = paid.token(contents="write", pull_requests="write", checks="read")
    done = paid.run(pull, paid.on_pull(pull, token=token))
    assert done.code == 3, done.log
    assert paid.calls == 0
    assert "cannot be counted" in told(done)["allowance"]
    assert "checks: write" in told(done)["allowance"]


def test_a_run_without_a_limit_of_its_own_holds_all_that_is_left(paid: PaidShop) -> None:
    """And every model needs a price."""
    paid.budget("perDay: {usd: 0.35}")
    first = paid.run(paid.open_pull("Be quick.\n", "one"))
    assert first.code == 0, first.log + first.errors
    second = paid.run(paid.open_pull("Be quick too.\n", "two"))
    assert second.code == 3, second.log
    assert paid.calls == 2 * FIXTURES
    paid.work.write("agents/support.yaml", AGENT.replace("gpt-4o", "gpt-99-imagined"))
    third = paid.run(paid.open_pull("Be quickest.\n", "three"))
    assert third.code == 2, third.log
    assert "policy.prices" in third.log + third.errors


def in_two(folder: Path, rights: str) -> Path:
    """The sample with two shards, whose planning job has these rights on check runs."""
    text = (ROOT / "examples/workflows/shards.yml").read_text()
    plan = (
        "      contents: read # read the manifests, their history, and how long earlier runs took\n"
    )
    assert plan in text
    path = folder / "shards.yml"
    text = text.replace(plan, f"{plan}      checks: {rights}\n", 1)
    path.write_text(text.replace("shards: auto", "shards: 2"))
    return path


def test_shards_share_what_the_job_that_plans_them_entered(paid: PaidShop, tmp_path: Path) -> None:
    """A try that was lost with what it spent counts as all that it was given."""
    paid.budget("usd: 0.5, perPullRequest: {usd: 1.2}")
    pull = paid.open_pull("Be quick.\n")

    def lost(name: str, at: str, attempt: int) -> str:
        return "lost" if (name, at, attempt) == ("measure-1", "2-of-2", 1) else ""

    walk = WorkflowWalk(paid, pull, in_two(tmp_path, "write"), 700, lost, paid.environ)
    walk.walk()
    (planned,) = walk.legs["plan"].values()
    assert planned.ended
    assert "Round 1 is measured in 2 shards, which share $0.50" in planned.ended.log
    assert paid.calls == FIXTURES
    walk.run_failed_again()
    assert paid.calls == FIXTURES, "nobody knows what the lost try spent"
    shard = walk.legs["measure-1"]["2-of-2"].ended
    assert shard
    assert "Run all jobs again" in " ".join((shard.log + shard.errors).split())
    assert paid.conclusions(pull.head_sha)[-1] == "action_required"
    walk.run_all_again()
    assert paid.calls == 2 * FIXTURES
    assert paid.conclusions(pull.head_sha)[-1] == "success"
    half = f"{FIXTURES * PRICE:.6f} over"
    assert sorted(paid.entries("pull request 1")) == [half, "0.500000 open"]
    third = WorkflowWalk(paid, paid.pushed(pull, "Be quickest.\n"), walk.path, 701)
    third.secrets = paid.environ
    third.walk()
    assert paid.conclusions(pull.head_sha)[-1] == "success"
    assert sorted(paid.entries("pull request 1")) == [half, f"{RUN:.6f} over", "0.500000 open"]
    fourth = WorkflowWalk(paid, paid.pushed(pull, "Be at your quickest.\n"), walk.path, 702)
    fourth.secrets = paid.environ
    fourth.walk()
    assert paid.conclusions(pull.head_sha)[-1] == "action_required"
    found = re.search(r"has .{0,80} taken", pull.comments[0].body)
    assert found, pull.comments[0].body
    assert "0.98 of its" in found[0], found[0]


def test_a_shard_of_which_one_try_is_lost_spends_no_more_though_another_left_something() -> None:
    """Else a change whose shard is killed each time would spend its share each time."""
    plan = make("support-eval refund head:pass").results.plan
    plan = plan.replace(allowance=Allowance(usd=0.5))
    joined = Joined((), (), (), 0, 2, "", {}, attempt=1)
    refuse_lost_try(plan, joined, 3, (1, 2))
    for known in ((1,), (2,), ()):
        with pytest.raises(UsageError, match="lost with it"):
            refuse_lost_try(plan, joined, 3, known)


def test_a_run_that_could_not_count_the_others_holds_nothing_afterwards(paid: PaidShop) -> None:
    paid.budget(BOTH)
    pull = paid.open_pull("Be quick.\n")
    anchor = paid.work.git("log", "-1", "--format=%H", "main", "--", ".github/gateval.yml")
    listing = f"/repos/acme/shop/commits/{anchor.decode().strip()}/check-runs"
    for nth in range(1, 6):
        paid.server.faults.status("GET", listing, 500, nth=nth)
    done = paid.run(pull)
    assert done.code == 3, done.log + done.errors
    assert paid.calls == 0
    assert "cannot be counted" in told(done)["allowance"]
    assert paid.entries("pull request 1") == ["0.000000 over"]


def test_a_job_that_an_error_ends_counts_what_it_asked_for(paid: PaidShop) -> None:
    paid.budget(BOTH)
    done = paid.run(paid.open_pull("Be quick.\n"), GATEVAL_VIEWS="nope")
    assert (done.code, paid.calls) == (2, 0), done.log + done.errors
    assert paid.entries("pull request 1") == ["0.000000 over"]


def test_a_job_that_an_error_ends_counts_all_where_nobody_knows_what_it_asked_for(
    paid: PaidShop, tmp_path: Path
) -> None:
    paid.budget(BOTH)
    pull = paid.open_pull("Be quick.\n")
    with provider(spoiling(tmp_path, lambda spent: spent.unlink())) as (_, environ):
        paid.environ = environ
        done = paid.run(pull)
    assert "Cannot store the runs of fixtures" in done.errors + done.log
    assert paid.entries("pull request 1") == ["0.500000 open"]


@pytest.mark.parametrize(
    "entry",
    [
        "<!-- gateval:spending v1 run=9.1 usd=-9.000000 over -->",
        "<!-- gateval:spending v1 run=9.1 usd=NaN over -->",
        "<!-- gateval:spending v1 run=9.1 usd=1e400 over -->",
        "<!-- gateval:spending v1 run=9.1 usd=\u0661.000000 over -->",
        "<!-- gateval:spending v1 run=9.1 usd=0.000000 over -->\n<!-- x -->",
    ],
)
def test_an_entry_that_says_no_amount_counts_for_none(entry: str) -> None:
    read = RunSpending.parse(entry)
    assert read is None


def test_more_than_can_be_written_counts_as_the_most() -> None:
    read = RunSpending.parse(str(RunSpending.of("9.1", 1e300)))
    assert read is not None
    assert read.usd == MOST_USD


def test_shards_of_a_job_that_could_enter_nothing_spend_nothing(
    paid: PaidShop, tmp_path: Path
) -> None:
    paid.budget(BOTH)
    pull = paid.open_pull("Be quick.\n")
    walk = WorkflowWalk(paid, pull, in_two(tmp_path, "read"), 700, secrets=paid.environ)
    walk.walk()
    assert paid.calls == 0
    assert paid.conclusions(pull.head_sha)[-1] == "action_required"
    assert "checks: write" in pull.comments[0].body
