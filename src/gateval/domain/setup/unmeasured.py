"""What lets pull requests hang, go unmeasured or be slow, and one pull request played through.
Pure.

Each finding has its file and line, what happens to pull requests then, and the edit to make.

The same model as `unmeasured.py`, asked with the pull request's own facts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.setup.diagnosis import (
    CHECK_NAME,
    Health,
    HealthCheck,
    RequiredCheck,
    about_permissions,
    about_required_check,
)
from gateval.domain.setup.gate_job import (
    PULL,
    QUEUE,
    USUAL_TYPES,
    EventFilter,
    GateJob,
    JobReach,
    Occasion,
    a_push,
    answer,
    holds,
    pull_facts,
    shared_group,
)


class RepositoryFacts(NamedTuple):
    """What is known of the repository: its name, empty for unknown, and its default branch.

    `queue` says whether that branch has a merge queue, None where nobody could look. `sealed` are
    its sealed manifests.
    """

    repository: str = ""
    branch: str | None = None
    queue: bool | None = None
    sealed: tuple[str, ...] = ()


class Hit(NamedTuple):
    """Where a rule is broken: the line, and the words for its sentences."""

    job: GateJob
    line: int
    word: str = ""
    health: Health = Health.PROBLEM


class Rule(NamedTuple):
    """`seen` says what happens to pull requests then, `todo` what to write instead."""

    topic: str
    find: Callable[[Sequence[GateJob], RepositoryFacts], Iterable[Hit]]
    seen: str
    todo: str


def about_reach(jobs: Sequence[GateJob], known: RepositoryFacts) -> list[HealthCheck]:
    """Hold the jobs against all rules; nothing is said of what is in order."""
    return [
        HealthCheck(
            hit.health,
            rule.topic,
            f"{hit.job.path}:{hit.line}, job {hit.job.check}: {rule.seen.format(hit.word)}",
            rule.todo.format(hit.word),
        )
        for rule in RULES
        for hit in rule.find(jobs, known)
    ]


def _pulls(jobs: Iterable[GateJob]) -> list[GateJob]:
    """Return the jobs that write the check of pull requests."""
    return [job for job in jobs if job.publishes and PULL in job.events]


def _filter(job: GateJob, event: str = PULL) -> EventFilter:
    return job.filters.get(event, EventFilter(line=job.line, types=job.types))


def _deaf(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    pulls = _pulls(jobs)
    heard = {one for job in pulls for one in _filter(job).types or USUAL_TYPES}
    missing = [one for one in ("opened", "synchronize") if one not in heard]
    if pulls and missing:
        yield Hit(pulls[0], _filter(pulls[0]).line, " and ".join(missing))


def _hearing(jobs: Sequence[GateJob]) -> list[GateJob]:
    return [job for job in _pulls(jobs) if "synchronize" in (_filter(job).types or USUAL_TYPES)]


def _by_paths(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    hearing = _hearing(jobs)
    narrow = [job for job in hearing if _filter(job).paths or _filter(job).paths_ignore]
    if narrow and len(narrow) == len(hearing):
        word = "paths" if _filter(narrow[0]).paths else "paths-ignore"
        yield Hit(narrow[0], _filter(narrow[0]).line, word)


def _by_branches(jobs: Sequence[GateJob], known: RepositoryFacts) -> Iterator[Hit]:
    hearing = _hearing(jobs)
    narrow = [job for job in hearing if _filter(job).branches or _filter(job).branches_ignore]
    if not narrow or len(narrow) != len(hearing) or known.branch is None:
        return
    told = Occasion(PULL, "synchronize", known.branch)
    found = [answer(_unfiltered(job), told).runs for job in narrow]
    if not any(found):
        yield Hit(narrow[0], _filter(narrow[0]).line, known.branch)
    else:
        word = "any branch but those that its filter of branches names"
        yield Hit(narrow[0], _filter(narrow[0]).line, word, Health.WARNING)


def _unfiltered(job: GateJob) -> GateJob:
    """Return a job without its filters of paths, and without conditions."""
    kept = {event: one._replace(paths=(), paths_ignore=()) for event, one in job.filters.items()}
    return job._replace(filters=kept, conditions=())


def _skipped(jobs: Sequence[GateJob], known: RepositoryFacts) -> Iterator[Hit]:
    told = a_push(known.repository, None)
    asked = [(job, answer(_without_filters(job), told)) for job in _hearing(jobs)]
    if not asked or any(found.runs for _, found in asked):
        return
    job, found = next((one for one in asked if one[1].runs is None), asked[0])
    unseen = found.runs is None
    yield Hit(job, found.line, found.why, Health.UNKNOWN if unseen else Health.PROBLEM)


def _without_filters(job: GateJob) -> GateJob:
    return job._replace(filters={PULL: EventFilter(types=_filter(job).types)})


def _without_queue(jobs: Sequence[GateJob], known: RepositoryFacts) -> Iterator[Hit]:
    told = Occasion(QUEUE, "checks_requested")
    publishing = [job for job in jobs if job.publishes]
    heard = any(answer(job._replace(conditions=()), told).runs for job in publishing)
    if known.queue and publishing and not heard:
        yield Hit(publishing[0], publishing[0].line, known.branch or "the default branch")


def _tolerated(jobs: Sequence[GateJob], known: RepositoryFacts) -> Iterator[Hit]:
    facts = a_push(known.repository, None).facts
    for job in jobs:
        for line in job.tolerated:
            if (found := holds(line.text, facts)) is not False:
                yield Hit(job, line.line, "", Health.PROBLEM if found else Health.WARNING)


def _unbrought(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    return (Hit(job, job.line) for job in jobs if job.checkout.seen is False)


def _brought_elsewhere(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    return (Hit(job, job.line, job.checkout.folder) for job in jobs if job.checkout.folder)


def _one_group(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        if PULL in job.events and (group := shared_group(job)):
            yield Hit(job, group.line, group.text)


def _keyless(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        if KEPT in job.variables and KEPT_KEY not in job.variables and job.events & _WRITING:
            yield Hit(job, job.line, health=Health.WARNING)


def _ran_before(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        if KEPT in job.variables and KEPT_KEY not in job.variables and not job.events & _WRITING:
            yield from (Hit(job, line.line, line.text) for line in job.ran_before[:1])


def _unguarded(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        if SEALS in job.variables and not job.guarded and PULL in job.events:
            yield Hit(job, job.line, health=Health.WARNING)


def _sealed_without_key(jobs: Sequence[GateJob], known: RepositoryFacts) -> Iterator[Hit]:
    if not known.sealed:
        return
    more = f" and {len(known.sealed) - 1} more" if len(known.sealed) > 1 else ""
    pulls = [job for job in _pulls(jobs) if not job.called]
    having = {job.path for job in pulls if SEALS in job.variables}
    parts = [job for job in jobs if job.step == "run" and job.path in having and PULL in job.events]
    for job in parts if having else pulls[:1]:
        if SEALS not in job.variables:
            yield Hit(job, job.line, f"{known.sealed[0]}{more}")


def _keys_for_all(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        for name in sorted({SEALS, KEPT_KEY} & job.shared):
            for line in job.ran_beside[:1]:
                yield Hit(job, line.line, f"`{line.text}` has {name}", Health.WARNING)


def _uploaded_again(jobs: Sequence[GateJob], _: RepositoryFacts) -> Iterator[Hit]:
    for job in jobs:
        yield from (Hit(job, one.line, one.text, Health.WARNING) for one in job.uploads)


SEALS = "GATEVAL_IDENTITY"
KEPT, KEPT_KEY = "GATEVAL_LAYERS", "GATEVAL_LAYERS_KEY"
_WRITING = {PULL, QUEUE, "push", "schedule"}
"""Events whose runs keep layers, or find what a pull request has cached."""

RULES = (
    Rule(
        "events",
        _deaf,
        "no run starts on {}, so such a head is never measured, and a required check is waited for "
        "without end.",
        "Add to `types` of pull_request: {}.",
    ),
    Rule(
        "filter",
        _by_paths,
        "a change that touches nothing of `{}` starts no run: it is not measured, and a required "
        "check is waited for without end.",
        "Remove `{}`: the gate itself finds out what a change touches, and takes seconds where "
        "that is nothing.",
    ),
    Rule(
        "filter",
        _by_branches,
        "no run starts for pull requests into {}; a required check is waited for without end.",
        "Remove the filter of branches, or let it name every branch that requires the check.",
    ),
    Rule(
        "condition",
        _skipped,
        "somebody's push starts no measurement: {}. A job that is skipped counts as passed, and "
        "the gate's own check is waited for without end.",
        "Let the `if` hold for each push to a pull request; the gate itself knows drafts, forks "
        "and labels.",
    ),
    Rule(
        "queue",
        _without_queue,
        "{} has a merge queue, and no job runs on merge_group: whatever is queued waits until the "
        "queue gives up.",
        "Add `merge_group: {{types: [checks_requested]}}` to `on`: see docs/guides/merge-queue.md.",
    ),
    Rule(
        "failure",
        _tolerated,
        "`continue-on-error` lets the job pass whatever the gate finds.",
        "Remove it; whether a finding blocks says the policy, in .github/gateval.yml.",
    ),
    Rule(
        "checkout",
        _unbrought,
        "no step before the gate's checks the repository out: every run ends with an error, and "
        "nothing is measured.",
        "Put `uses: actions/checkout` with `fetch-depth: 0` before the gate's step.",
    ),
    Rule(
        "checkout",
        _brought_elsewhere,
        "the repository is checked out into {}, and the gate looks in the workspace itself: every "
        "run ends with an error.",
        "Remove `path` from the checkout before the gate's step.",
    ),
    Rule(
        "concurrency",
        _one_group,
        "all pull requests share the concurrency group {}: of those that wait GitHub keeps one and "
        "cancels the others, which are never measured.",
        "Put ${{{{ github.event.pull_request.number || github.ref }}}} into the group.",
    ),
    Rule(
        "seals",
        _unguarded,
        "the step has GATEVAL_IDENTITY and the job no `environment`: whoever may push can print "
        "the key by an edit of this file on a branch, and read what is sealed, unless a ruleset "
        "requires this workflow.",
        "Move the secret into an environment with required reviewers, and name that in the job "
        "(`environment: evals`): see docs/guides/sealed.md.",
    ),
    Rule(
        "seals",
        _sealed_without_key,
        "{} is sealed, and the step has no GATEVAL_IDENTITY: each change that touches an Agent is "
        "incomplete.",
        "Put the key into an environment with required reviewers, name that in the job "
        "(`environment: evals`), and hand the secret to the step in `env`: see "
        "docs/guides/sealed.md.",
    ),
    Rule(
        "keys",
        _keys_for_all,
        "{}, too, and may run the change's code, which could send it anywhere.",
        "Move the secret from the `env` of workflow and job to that of the gate's step.",
    ),
    Rule(
        "layers",
        _keyless,
        "the step has GATEVAL_LAYERS and no GATEVAL_LAYERS_KEY, so nobody can tell who made a "
        "layer: none is kept or used, and each run makes its set-ups anew.",
        "Make the secret, `openssl rand -hex 32 | gh secret set GATEVAL_LAYERS_KEY`, and hand it "
        "on in `env`: see docs/guides/dependencies.md.",
    ),
    Rule(
        "layers",
        _ran_before,
        "`{}` may run the change's code before the gate, and could forge what the cache put back; "
        "without GATEVAL_LAYERS_KEY no layer is used then.",
        "Put the step behind the gate's, or hand the step GATEVAL_LAYERS_KEY in `env`.",
    ),
    Rule(
        "artifacts",
        _uploaded_again,
        "each attempt uploads `{}`, and a workflow run has that name for good: a job that is run "
        "again fails there with 409.",
        "Write `name: {}-${{{{ github.run_attempt }}}}`, and where a later job downloads it, "
        "hand it the attempt: see examples/workflows/long-runs.yml.",
    ),
)
"""What to look for, in the order in which it is said."""


FORKS = "docs/guides/forks.md"
DEPENDABOT = "dependabot[bot]"
_OF_A_RUN = ("failure", "checkout", "concurrency")
"""The rules that matter to a job that runs, whatever started it."""


class PlayedPull(NamedTuple):
    """A pull request as GitHub tells of it now. Whatever is text is theirs.

    `conflicts` is None while GitHub has not found out. `checks` are conclusions of the newest check
    runs on head by name, empty for one that is under way.
    """

    number: int
    open: bool
    draft: bool
    author: str
    head: str
    branch: str
    base: str
    fork: bool
    labels: tuple[str, ...]
    files: tuple[str, ...]
    conflicts: bool | None = None
    checks: tuple[tuple[str, str], ...] = ()


class BranchProtection(NamedTuple):
    """What guards the target branch: required checks, and whether there is a merge queue.

    `check` is the gate's name there.
    """

    required: Collection[RequiredCheck] = ()
    queue: bool = False
    check: str = CHECK_NAME


class Played(NamedTuple):
    """The lines of the way, and what comes of it; None where that cannot be told from here."""

    findings: tuple[HealthCheck, ...]
    through: bool | None
    why: str


def play(
    pull: PlayedPull, jobs: Sequence[GateJob], branch: BranchProtection, repository: str
) -> Played:
    """Say what would happen to this pull request at a push, and why."""
    told = _occasion(pull, repository)
    asked = [(job, answer(job, told)) for job in jobs if job.publishes and PULL in job.events]
    running = [job for job, found in asked if found.runs]
    known = RepositoryFacts(repository, pull.base, branch.queue)
    findings = [
        *_of_the_pull(pull, jobs),
        *(_of_the_job(job, found) for job, found in asked),
        *map(about_permissions, running),
        *(one for one in about_reach(running, known) if one.topic in _OF_A_RUN),
        about_required_check(pull.base, branch.required, running or jobs, branch.check),
        *(one for one in about_reach(jobs, known) if one.topic == "queue"),
        *_state(pull, branch),
    ]
    if not any(found.runs is not False for _, found in asked):
        findings.append(_nothing_runs(asked))
    return Played(tuple(findings), *_end(pull, findings, running, branch))


def _occasion(pull: PlayedPull, repository: str) -> Occasion:
    facts = pull_facts(repository, pull.base, own=not pull.fork)
    labels = tuple(pull.labels)
    facts |= {
        "github.event.action": "synchronize",
        "github.event.label": None,
        "github.event.number": float(pull.number),
        "github.event.pull_request.number": float(pull.number),
        "github.event.pull_request.draft": pull.draft,
        "github.event.pull_request.labels": labels,
        "github.event.pull_request.labels.*.name": labels,
        "github.event.pull_request.user.login": pull.author,
        "github.event.sender.login": pull.author,
        "github.actor": pull.author,
        "github.head_ref": pull.branch,
        "github.event.pull_request.head.ref": pull.branch,
    }
    if pull.fork:
        facts["github.event.pull_request.head.repo.fork"] = True
        facts["github.event.pull_request.head.repo.full_name"] = "(another repository)"
    return Occasion(PULL, "synchronize", pull.base, pull.files, facts)


def _of_the_pull(pull: PlayedPull, jobs: Sequence[GateJob]) -> Iterator[HealthCheck]:
    if not pull.open:
        yield HealthCheck(Health.PROBLEM, "pull request", "It is closed.", "Reopen it.")
    if pull.conflicts:
        seen = "Its branches conflict, and then GitHub starts no run on pull_request."
        yield HealthCheck(Health.PROBLEM, "pull request", seen, "Merge the target branch into it.")
    if pull.draft:
        seen = "It is a draft: with `policy.drafts: wait` it is measured when it is ready."
        yield HealthCheck(Health.WARNING, "pull request", seen)
    bot = pull.author == DEPENDABOT
    if pull.fork or bot:
        whose = "of Dependabot's" if bot else "from a fork"
        seen = f"It is {whose}, whose run has no keys and may write nothing: it ends unverified."
        by_hand = [job.path for job in jobs if job.publishes and "workflow_dispatch" in job.events]
        todo = (
            f"A maintainer starts {by_hand[0]} by hand, with the number {pull.number}."
            if by_hand
            else f"Add a workflow that maintainers start by hand: see {FORKS}."
        )
        yield HealthCheck(Health.PROBLEM, "pull request", seen, todo)


def _of_the_job(job: GateJob, found: JobReach) -> HealthCheck:
    if found.runs:
        return HealthCheck(Health.OK, "event", f"{job.place}: runs when the head is pushed.")
    where = f"{job.path}:{found.line}, job {job.check}"
    if found.runs is None:
        return HealthCheck(Health.UNKNOWN, "event", f"{where}: {found.why}.")
    return HealthCheck(Health.OK, "event", f"{where}: does not run: {found.why}.")


def _nothing_runs(asked: Sequence[tuple[GateJob, JobReach]]) -> HealthCheck:
    whys = "; ".join(f"{job.path}: {found.why}" for job, found in asked)
    seen = "No job that writes the gate's check runs when the head is pushed"
    todo = "What would start it: gateval doctor."
    return HealthCheck(Health.PROBLEM, "event", f"{seen} ({whys})." if whys else f"{seen}.", todo)


def _state(pull: PlayedPull, branch: BranchProtection) -> Iterator[HealthCheck]:
    found = dict(pull.checks).get(branch.check)
    if found is None:
        seen = f"There is no check {branch.check} on its head {pull.head[:7]} yet."
    else:
        seen = f"The check {branch.check} on its head {pull.head[:7]}: {found or 'under way'}."
    yield HealthCheck(Health.OK, "check", seen)


def _end(
    pull: PlayedPull,
    findings: Sequence[HealthCheck],
    running: Sequence[GateJob],
    branch: BranchProtection,
) -> tuple[bool | None, str]:
    problems = [one.seen.rstrip(".") for one in findings if one.health is Health.PROBLEM]
    if problems:
        why = "; ".join(problems)
        return False, f"Pull request #{pull.number} would hang or go unmeasured, because: {why}."
    unseen = [one.seen.rstrip(".") for one in findings if one.health is Health.UNKNOWN]
    if unseen:
        why = "; ".join(unseen)
        return None, f"What becomes of pull request #{pull.number} cannot be told: {why}."
    through = " and on merge_group, for the queue" if branch.queue else ""
    return True, (
        f"Pull request #{pull.number} would be measured and could be merged, because "
        f"{running[0].path} runs at each push{through}, its token may write the check "
        f"{branch.check}, and {pull.base} waits for that: whether it passes, the Evals say."
    )
