"""What `gateval doctor` says: each finding is fine, a problem, or unknown from here. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from gateval.domain.label_decision import GateLabel
from gateval.domain.paths import nearest
from gateval.domain.problems import Problem
from gateval.domain.setup.gate_job import COMMENTED, LABELING, NEEDED, GateJob, lacking, records

CHECK_NAME = "gateval"
"""The check run to require. The job's own check is another one."""

NAME_THE_BASE = (
    "Name what to compare with: --base REV. Or let git know the default branch: "
    "`git remote set-head origin --auto`, or without a remote "
    "`git config init.defaultBranch BRANCH`."
)
"""What to do in a clone in which there is no telling which branch is the default one."""

_OTHERS = f"On another target branch BRANCH it is {CHECK_NAME} (into BRANCH)."
EMERGENCIES = "docs/guides/emergencies.md"
GUIDE = "docs/guides/branch-protection.md"


class Health(StrEnum):
    """How it is. A warning hangs on what was not said; unknown could not be seen from here."""

    OK = "ok"
    PROBLEM = "problem"
    WARNING = "warning"
    UNKNOWN = "unknown"


ACTIONS_APP = 15_368
"""The id of GitHub Actions, the App as which the token of a job writes."""


class RequiredCheck(NamedTuple):
    """A check that a branch requires; `app` is the one that has to write it, None for anybody."""

    name: str
    app: int | None = None


class HealthCheck(NamedTuple):
    """One line: how it is, with what, what was seen, and what to do about it."""

    health: Health
    topic: str
    seen: str
    todo: str = ""


def about_workflows(jobs: Sequence[GateJob]) -> list[HealthCheck]:
    """Look at the jobs that use the gate: what starts them, and what their token may do."""
    if not jobs:
        todo = "Write one with `gateval init`; other CI systems need none."
        return [HealthCheck(Health.PROBLEM, "workflow", "No workflow uses the action.", todo)]
    events = {event for job in jobs for event in job.events}
    publishing = [job for job in jobs if job.publishes]
    named = [_about_name(job) for job in jobs if job.check == CHECK_NAME]
    heard = [_about_labels(job) for job in publishing if "pull_request" in job.events]
    return [_about_events(jobs, events), *named, *map(about_permissions, jobs), *heard]


def about_unreadable(problem: Problem) -> HealthCheck:
    """Say that a workflow cannot be read, so that nobody knows what its jobs are."""
    seen = f"{problem}"
    return HealthCheck(
        Health.PROBLEM, "workflow", seen, "GitHub runs no workflow that it cannot read."
    )


def about_inputs(jobs: Sequence[GateJob], known: Sequence[str]) -> list[HealthCheck]:
    """Look for inputs that the action does not have; the gate refuses them when it starts."""
    return [
        HealthCheck(
            Health.PROBLEM,
            "inputs",
            f'{job.path}, job {job.check}: there is no input "{name}".{nearest(name, known)}',
            f"Inputs: {', '.join(known)}.",
        )
        for job in jobs
        for name in job.inputs
        if name.lower() not in known
    ]


def about_isolation(text: str, not_promised: str) -> HealthCheck:
    """Say what holds candidates here, and what would hold elsewhere."""
    return HealthCheck(Health.OK, "isolation", f"{text[:1].upper()}{text[1:]}.", not_promised)


def about_namespaces(why_not: str) -> HealthCheck:
    """Say whether agents of runs with sealed Evals see no processes but their own."""
    found = f"no, because {why_not}" if why_not else "yes, for agents beside sealed Evals"
    return HealthCheck(Health.OK, "isolation", f"PID namespaces: {found}.", "")


def about_local_providers(
    named: Sequence[tuple[str, str]], *, told: bool, held: bool
) -> Iterator[HealthCheck]:
    """Say what keeps candidates from answering for providers on this machine: (provider, host).

    `told` says that the system tells who answers, `held` that it holds candidates to their ports.
    """
    if not named:
        return
    names = ", ".join(dict.fromkeys(name for name, _ in named))
    seen = f"{names} on this machine: "
    seen += "each connection is looked at" if told else "nothing here tells who answers"
    seen += ", and agents listen on ports of their own only." if held else "."
    hint = "" if told else "In CI it is not asked without `policy: {loopbackUpstreams: trusted}`."
    if told and not held:
        hint = (
            "An agent could take its port while it is down, and such a run is inconclusive. "
            "A kernel with Landlock's rules for ports (Linux 6.7) keeps it from that."
        )
    yield HealthCheck(Health.OK if told else Health.WARNING, "providers", seen, hint)
    for name, host in named:
        if host == "localhost":
            seen = f"{name} is asked at localhost, which may mean 127.0.0.1 and ::1."
            todo = "Write the one that it listens on."
            yield HealthCheck(Health.WARNING, "providers", seen, todo)


def about_keyless_providers(named: Sequence[str]) -> Iterator[HealthCheck]:
    """Say of providers that ask for no key and that agents can reach: they obey these, too."""
    if named:
        each = "asks" if len(named) == 1 else "ask"
        seen = (
            f"{', '.join(named)} {each} for no key: an agent that reaches the server by itself may "
            "change the model that judges it, or read what else is asked there."
        )
        todo = "`policy: {egress: gateway}` in the gate config keeps agents to the gate's gateway."
        yield HealthCheck(Health.WARNING, "providers", seen, todo)


def _about_name(job: GateJob) -> HealthCheck:
    seen = (
        f"{job.path}: a job is named {CHECK_NAME}, as the check run of the gate is. Requiring "
        "that name could mean the job, which counts as passed when it is skipped."
    )
    return HealthCheck(Health.PROBLEM, "workflow", seen, "Name the job otherwise, such as evals.")


def _about_events(jobs: Sequence[GateJob], events: Collection[str]) -> HealthCheck:
    paths = ", ".join(sorted({job.path for job in jobs}))
    if "pull_request_target" in events:
        seen = f"{paths}: pull_request_target would run a pull request's code with secrets."
        return HealthCheck(
            Health.PROBLEM, "workflow", seen, "Use pull_request; the gate refuses this."
        )
    if "pull_request" not in events:
        seen = f"{paths}: not started by pull_request."
        return HealthCheck(Health.PROBLEM, "workflow", seen, "Add `pull_request` to `on`.")
    return HealthCheck(Health.OK, "workflow", f"{paths}, on {', '.join(sorted(events))}.")


def about_permissions(job: GateJob) -> HealthCheck:
    """Say whether a job's token may do what the gate does with it."""
    where = job.place
    if job.own_token:
        seen = f"{where}: the step has a token of its own; what that may do is not seen from here."
        return HealthCheck(Health.UNKNOWN, "permissions", seen, f"It needs {_needed()}.")
    if job.permissions is None:
        seen = (
            f"{where}: not said, so the repository's default counts: where that only reads, no "
            "check run is written, and a required one is waited for without end."
        )
        todo = f"Write `permissions` into the job: {_needed()}."
        return HealthCheck(Health.PROBLEM, "permissions", seen, todo)
    missing = lacking(job)
    if missing:
        todo = f"Add to the job's `permissions`: {', '.join(missing)}."
        seen = (
            f"{where}: too few, so {'; '.join(_LACKED[one.partition(':')[0]] for one in missing)}."
        )
        return HealthCheck(Health.PROBLEM, "permissions", seen, todo)
    return HealthCheck(Health.OK, "permissions", f"{where}: enough for {_does(job)}.")


_LACKED = {
    "actions": "what earlier attempts left is not found, and a job that is run again fails",
    "contents": "what was found is recorded nowhere but in the check run, and no label counts",
    "pull-requests": "there is no comment",
    "checks": "there is no check run, and a required one is waited for without end",
}
"""What comes of a permission that is missing."""


def _does(job: GateJob) -> str:
    if not job.publishes:
        return f"the step {job.step}"
    return "comment and check run" if job.events & COMMENTED else "the check run"


def _needed() -> str:
    return ", ".join(f"{name}: {level}" for name, level in NEEDED.items())


def _about_labels(job: GateJob) -> HealthCheck:
    """Say whether the gate's labels count in a job. Without them the gate works all the same."""
    where = job.place
    if records(job) is False:
        seen = "no label counts, for nothing can be recorded, and a label runs the Evals again."
        todo = f"For labels, add `contents: write` to the job's `permissions`: see {EMERGENCIES}."
    elif missing := [one for one in LABELING if one not in job.types]:
        seen = f"no run starts on {' or '.join(missing)}, so labels count from the next push on."
        todo = f"Add to `types` of pull_request: {', '.join(missing)}."
    else:
        return HealthCheck(Health.OK, "labels", f"{where}: runs on labels, and may record them.")
    return HealthCheck(Health.OK, "labels", f"{where}: {seen}", todo)


def about_audit_branch(branch: str, rules: Collection[str]) -> HealthCheck:
    """Say whether rulesets keep the audit log from being rewritten; classic protection is unseen.

    `rules` are the types of the rules that GitHub names for the branch.
    """
    missing = [words for rule, words in _KEEPING.items() if rule not in rules]
    if not missing:
        return HealthCheck(Health.OK, "audit log", f"A ruleset keeps {branch} as it was written.")
    seen = f"No ruleset keeps {branch} from {' and '.join(missing)}; the chain shows it afterwards."
    return HealthCheck(Health.OK, "audit log", seen, "Forbid both: see docs/guides/audit.md.")


_KEEPING = {"non_fast_forward": "force pushes", "deletion": "deletion"}


def about_keys(
    complaints: Sequence[str],
    keys: Sequence[str],
    addresses: Sequence[str],
    jobs: Sequence[GateJob],
    *,
    runner: bool,
) -> list[HealthCheck]:
    """Look at the keys of the models that the manifests name, and at the addresses of those that
    have none of their own.

    `complaints` are sentences on what this environment lacks, `keys` and `addresses` the variables
    of all.
    """
    needed = (*keys, *addresses)
    found = []
    if complaints:
        health = Health.PROBLEM if runner else Health.UNKNOWN
        todo = (
            "Hand them to the gate's step in `env`, from secrets."
            if runner
            else "Set them here to run evals here. Secrets of the repository cannot be read."
        )
        found.append(HealthCheck(health, "keys here", " ".join(complaints), todo))
    elif needed:
        found.append(HealthCheck(Health.OK, "keys here", f"{', '.join(needed)} set."))
    else:
        found.append(HealthCheck(Health.OK, "keys here", "No model of the manifests needs one."))
    evaluating = [job for job in jobs if job.step == "all" and not job.called]
    handed = {name for job in evaluating for name in job.variables}
    absent = sorted(set(needed) - handed)
    if evaluating and absent:
        context = "vars" if absent[0] in addresses else "secrets"
        todo = f"Add `{absent[0]}: ${{{{ {context}.{absent[0]} }}}}` to `env` of the gate's step."
        seen = f"The workflow does not hand on {', '.join(absent)}."
        found.append(HealthCheck(Health.PROBLEM, "keys in CI", seen, todo))
    return found


def about_required_check(
    branch: str,
    required: Collection[RequiredCheck],
    jobs: Sequence[GateJob],
    name: str = CHECK_NAME,
) -> HealthCheck:
    """Say whether the gate's check is required, of whom, and whether a job's is taken for it."""
    ours = [one for one in required if one.name == name]
    if ours:
        return _about_source(branch, name, {one.app for one in ours} - {None}, jobs)
    mistaken = sorted({job.check for job in jobs} & {one.name for one in required})
    if mistaken:
        seen = f"{branch} requires {mistaken[0]}, which is the job; one that is skipped passes it."
    else:
        seen = f"{branch} does not require the check {name}: a failed gate can be merged."
    return HealthCheck(Health.PROBLEM, "required", seen, f"Require {name}: see {GUIDE}. {_OTHERS}")


def _about_source(
    branch: str, name: str, apps: Collection[int | None], jobs: Sequence[GateJob]
) -> HealthCheck:
    """Look at who has to write the check; several Apps that have to are none that does."""
    own = any(job.own_token for job in jobs)
    if not apps:
        seen = (
            f"{branch} requires the check {name} from any source: whoever may push can write a "
            "green one of this name, and nothing was measured."
        )
        source = "your App" if own else "GitHub Actions"
        todo = f"Choose {source} as the source of the required check: see {GUIDE}."
        return HealthCheck(Health.PROBLEM, "required", seen, todo)
    if set(apps) != {ACTIONS_APP} and not own:
        others = ", ".join(str(one) for one in apps if one != ACTIONS_APP)
        seen = (
            f"{branch} requires the check {name} from the App {others}, and the workflow's token "
            "writes as GitHub Actions: the check is waited for without end."
        )
        todo = f"Choose GitHub Actions as the source of the required check: see {GUIDE}."
        return HealthCheck(Health.PROBLEM, "required", seen, todo)
    source = "GitHub Actions" if set(apps) == {ACTIONS_APP} else "an App of your own"
    seen = f"{branch} requires the check {name} from {source}."
    return HealthCheck(Health.OK, "required", seen, _OTHERS)


def about_history(branch: str | None, *, shallow: bool, joined: bool, runner: bool) -> HealthCheck:
    """Say whether the base that changes are compared with is in this clone."""
    deeper = (
        "Use `fetch-depth: 0` in checkout."
        if runner
        else "Fetch the rest of it: git fetch --unshallow origin"
    )
    if branch is None:
        seen = "There is no telling which branch is the default one."
        return HealthCheck(Health.PROBLEM, "history", seen, deeper if runner else NAME_THE_BASE)
    if not joined:
        seen = f"HEAD and {branch} have no common commit here."
        todo = deeper if shallow else "Name another base: gateval check --base REV."
        return HealthCheck(Health.PROBLEM, "history", seen, todo)
    if shallow:
        seen = f"Shallow, with a common commit of HEAD and {branch}; the action fetches more."
        return HealthCheck(Health.OK, "history", seen)
    return HealthCheck(Health.OK, "history", f"Whole; compared with {branch}.")


def worst(findings: Iterable[HealthCheck]) -> Health:
    """Return a problem if there is one, else unknown if there is one, else fine."""
    seen = {finding.health for finding in findings}
    return next((one for one in (Health.PROBLEM, Health.UNKNOWN) if one in seen), Health.OK)


def counted(findings: Sequence[HealthCheck]) -> Mapping[Health, int]:
    """Return how many findings there are of each health."""
    return {one: sum(finding.health is one for finding in findings) for one in Health}


class LabelStyle(NamedTuple):
    """The look of a label: `color` as six hexadecimal digits."""

    color: str
    description: str


LABEL_STYLES = {
    GateLabel.BYPASS: LabelStyle("b60205", "Lets this revision through the gate; recorded"),
    GateLabel.ACCEPT_BAR: LabelStyle("d93f0b", "Accepts the lower bar of this revision; recorded"),
}

FIX = "gateval doctor --fix"
"""What makes the labels with a token."""


def making(label: GateLabel, repository: str = "") -> str:
    """Return the command that makes a label; `repository` is OWNER/NAME, empty for this one."""
    look = LABEL_STYLES[label]
    there = f" --repo {repository}" if repository else ""
    return f'gh label create {label}{there} --color {look.color} --description "{look.description}"'


def about_missing(
    missing: Sequence[GateLabel], made: Sequence[GateLabel], name: str
) -> HealthCheck:
    """Say which of the gate's labels the repository `name` lacks; `made` were made just now.

    The gate works without them, so this is no problem; a person who needs one makes it first.
    """
    if missing:
        seen = f"{name} has no label {' and no label '.join(missing)}."
        todo = " && ".join(making(label, name) for label in missing)
        return HealthCheck(Health.OK, "labels", seen, f"Make them with `{FIX}`, or: {todo}")
    new = f" ({' and '.join(made)} made now)" if made else ""
    return HealthCheck(Health.OK, "labels", f"{name} has {' and '.join(LABEL_STYLES)}{new}.")


MARGIN_MINUTES = 5.0
"""For what a job does before and after the run: the image, the history, the report."""


def about_time(jobs: Sequence[GateJob]) -> list[HealthCheck]:
    """Compare `timeout-minutes` of each job that measures with `max-minutes` of the gate's step."""
    return [_about(job) for job in jobs if job.step in {"all", "run"} and not job.called]


def _about(job: GateJob) -> HealthCheck:
    where = f"{job.path}, job {job.check}"
    given = job.minutes
    if given.job is None or given.run is None:
        seen = f"{where}: timeout-minutes or max-minutes is an expression, unknown from here."
        return HealthCheck(Health.UNKNOWN, "time", seen)
    if given.job >= given.run + MARGIN_MINUTES:
        seen = f"{where}: the run ends after {given.run:g} minutes, the job after {given.job:g}."
        return HealthCheck(Health.OK, "time", seen)
    seen = (
        f"{where}: GitHub ends the job after {given.job:g} minutes, and the gate its run after "
        f"{given.run:g}; cut off, it reports nothing."
    )
    todo = (
        f"Let `timeout-minutes` be at least {given.run + MARGIN_MINUTES:g}, or lower the input "
        "`max-minutes`."
    )
    return HealthCheck(Health.PROBLEM, "time", seen, todo)
