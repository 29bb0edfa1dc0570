"""Says what is stored about one fixture of a head: no agent is started, no model is asked."""

from __future__ import annotations

from dataclasses import replace

from gateval.app.action.commands.comments import reply
from gateval.app.action.context import ActionContext
from gateval.app.action.result import ActionResult
from gateval.app.foreign import CLOSED
from gateval.app.registries import registries
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.forge.pull_request import PullRequest
from gateval.domain.history.record import HistoryRecord, confirmed
from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.sealing import is_sealed_fixture, shut_fixture
from gateval.domain.repository.place import nearest
from gateval.pipeline.history import read_stored_records, verdict_in
from gateval.pipeline.read import survey
from gateval.publish.check import newest_check


def explain(context: ActionContext, pull: PullRequest, name: str) -> ActionResult:
    """Answer with what the fixture asks, as head has it, and what its stored verdict says of it.

    Raises `ForgeError`, `RepositoryError`, `RecordsError`.
    """
    from gateval.render.github.reply import Explanation, explanation

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
    stored = read_stored_records(context.open_records).history
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
    if found is not None and is_sealed_fixture(found, snapshot.catalogue):
        found = shut_fixture(found)
    return found, sorted(fixtures), evals
