"""Takes commands in comments, and answers `explain`: no agent is started, no model is asked.

The workflow is the default branch's and has keys, so a comment is the way in for everybody who can
write one. A stranger's costs one question about their role and is not answered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gateval.app.action.context import ActionContext
from gateval.app.action.result import ActionResult
from gateval.app.readers import CLOSED, registries
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.forge.trigger import (
    CommentSubject,
    PullRequest,
    PullRequestSubject,
    Trigger,
    Verb,
)
from gateval.domain.history.verdicts import HistoryRecord, confirmed
from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.paths import nearest
from gateval.domain.plan.sealing import sealed_fixtures, shut_fixture
from gateval.domain.text import Safe, markdown
from gateval.errors import EXIT_PASS, EXIT_USAGE, ForgeError, UsageError
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.read import survey
from gateval.pipeline.resolved_event import read_stored_records, verdict_in
from gateval.publish.check import newest_check

STRANGERS = {"", "none", "read"}
"""Roles that may put no label on either; on a public repository everybody may read."""

_ASKED = (
    "`/gateval rerun SHA`, with the whole id of the pull request's head, or `/gateval explain "
    "FIXTURE`, as all that a comment says."
)
_FORK = (
    "Its head lies in a fork, whose code is run with keys only by the maintainers' workflow, "
    "which an environment protects (docs/guides/forks.md). Nothing was run."
)


class RerunRequest(NamedTuple):
    """A rerun that somebody may perhaps have, as the policy will say."""

    trigger: Trigger
    author: str
    role: str


def take_comment(context: ActionContext, asked: CommentSubject) -> RerunRequest | ActionResult:
    """Return the run that a comment asks for, or how the job ends without one."""
    if context.inputs.step is not ActionStep.ALL:
        raise UsageError("A comment asks for a whole run.", hint="Leave out the input step.")
    if asked.verb is Verb.NOTHING or not asked.on_pull_request:
        return _ignored("The comment asks nothing of the gate.")
    if not asked.person:
        return _ignored("The comment is not a person's; only a person may ask the gate.")
    role = context.forge.role(asked.author)
    if role in STRANGERS:
        return _ignored("Whoever wrote the comment has no role here; nothing is done or answered.")
    if asked.verb is Verb.UNCLEAR:
        return refused(context, asked.number, f"That is no command. What there is: {_ASKED}")
    pull = context.forge.pull_request(asked.number)
    if asked.verb is Verb.EXPLAIN:
        return explain(context, pull, asked.argument)
    if why := _no_rerun(pull, asked.argument):
        stale = pull.open and not pull.fork
        again = f"/gateval rerun {pull.head.sha}" if stale else ""
        return refused(context, asked.number, why, again)
    subject = PullRequestSubject(number=pull.number, only=asked.argument)
    trigger = context.trigger.replace(subject=subject)
    return RerunRequest(trigger, asked.author, role)


def without_right(
    context: ActionContext, asked: RerunRequest | None, policy: Policy
) -> ActionResult | None:
    """Return how the job ends if the policy lets nobody of this role rerun; None if it may."""
    roles = policy.bypass.roles
    if (
        asked is None
        or asked.role in roles
        or not isinstance(asked.trigger.subject, PullRequestSubject)
    ):
        return None
    may = " or ".join(roles) or "nobody"
    why = f"{asked.author} has the role {asked.role} in this repository; {may} may ask for a run."
    return refused(context, asked.trigger.subject.number, why)


def refused(context: ActionContext, number: int, why: str, again: str = "") -> ActionResult:
    """Answer that nothing was run, and why; `again` is the command to ask with, if there is one."""
    from gateval.render.github import refusal

    return reply(context, number, refusal(why, again), f"{why} {again}".rstrip(), EXIT_USAGE)


def reply(
    context: ActionContext, number: int, body: Safe, text: str, code: int = EXIT_PASS
) -> ActionResult:
    """Answer with a comment of its own; `text` is for the log."""
    from gateval.safe.sanitize import plain_line

    warnings: tuple[str, ...] = ()
    url = ""
    try:
        url = context.forge.create_comment(number, body).url
    except ForgeError as error:
        warnings = (f"The answer could not be written. {error.sentence}",)
    return ActionResult(
        code,
        {"comment-url": url},
        summary=markdown("{}\n", body),
        text=f"{plain_line(text, 2_000)}\n",
        warnings=warnings,
    )


def _ignored(why: str) -> ActionResult:
    return ActionResult(EXIT_PASS, text=f"{why}\n")


def _no_rerun(pull: PullRequest, sha: str) -> str:
    """Return why this head is not run; empty if it may be."""
    if not pull.open:
        return f"Pull request #{pull.number} is closed."
    if pull.fork:
        return _FORK
    if pull.head.sha != sha:
        return (
            f"{sha[:12]} is not the head, which is {pull.head.sha[:12]} by now. Nothing was run. "
            "Read what was pushed since; then ask again, for the head that you have read:"
        )
    return ""


def explain(context: ActionContext, pull: PullRequest, name: str) -> ActionResult:
    """Answer with what the fixture asks, as head has it, and what its stored verdict says of it.

    Raises `ForgeError`, `RepositoryError`, `RecordsError`.
    """
    from gateval.render.github import Explanation, explanation

    head = pull.head.sha
    record, check, why_not = _verdict(context, pull)
    fixture, known, evals = _fixture(context, pull, name)
    told = Explanation(
        name=name,
        head=head,
        fixture=fixture,
        instead="" if fixture else nearest(name, known),
        evals=evals,
        record=record,
        why_not=why_not,
        log=check.url if check else "",
    )
    text = f"Explained {name} at {head[:12]} from what is stored."
    return reply(context, pull.number, explanation(told), text)


def _verdict(
    context: ActionContext, pull: PullRequest
) -> tuple[HistoryRecord | None, CheckRun | None, str]:
    """Return the verdict on head, if the gate's own check run confirms it, or why there is none."""
    target = context.target(pull.head.sha, pull.number, claimed=False, branch=pull.base.ref)
    check = newest_check(context.forge, target)
    if check is not None and not check.completed:
        return None, check, "Another run is evaluating this head now."
    stored, _ = read_stored_records(context.open_records)
    record = verdict_in(stored, target.head, target.check_name)
    if record is None or not confirmed(record, check):
        return None, check, "No verdict on this head is stored that the gate's check run confirms."
    return record, check, ""


def _fixture(
    context: ActionContext, pull: PullRequest, name: str
) -> tuple[Fixture | None, list[str], tuple[str, ...]]:
    """Return the fixture as head has it, the names of all that can be read there, and the Evals
    that have it.
    """
    head = pull.head.sha
    context.server.bring([head], instead=f"refs/pull/{pull.number}/head")
    known = replace(registries(), foreign=CLOSED)  # head's own rules would say what is fetched
    snapshot = survey(context.repository, known, context.repository.resolve(head))
    fixtures = {one.name: one for one in snapshot.catalogue.fixtures}
    found = fixtures.get(name)
    evals = tuple(
        one.name
        for one in snapshot.catalogue.evals
        if any(each.name == name for each in select_fixtures(one, snapshot.catalogue))
    )
    if found is not None and name in sealed_fixtures(snapshot.catalogue):
        found = shut_fixture(found)
    return found, sorted(fixtures), evals
