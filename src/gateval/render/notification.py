"""A decision as a webhook takes it: `notification.v1`, or a message for Slack and its like."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.base import JsonObject, ascii_json
from gateval.domain.history.notification import Notification
from gateval.domain.history.verdicts import StoredEval
from gateval.domain.manifests.gate_config import NotificationFormat
from gateval.domain.text import show_score, show_threshold
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.wording import ICONS
from gateval.safe.sanitize import chat_line, chat_link

_NAME, _LINE, _EVALS = 100, 600, 10


def render_notification(told: Notification, form: NotificationFormat) -> bytes:
    """Return the body of the request."""
    if form is NotificationFormat.JSON:
        return ascii_json(told.model_dump(mode="json")).encode()
    message: JsonObject = {
        "text": "\n".join(_lines(told)),
        "mrkdwn": True,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return ascii_json(message).encode()


def _lines(told: Notification) -> Iterator[str]:
    gate = "Gateval" if told.gate == "gateval" else f"Gateval ({chat_line(told.gate, _NAME)})"
    bypassed = told.verdict is GateVerdict.BYPASSED
    said = f"{told.verdict} (the evals say {told.evals_verdict})" if bypassed else told.verdict
    yield f"{ICONS[told.verdict]} *{gate}: {said}* in {_where(told)} at {told.head[:7]}"
    if told.headline:
        yield chat_line(told.headline, _LINE)
    for one in told.evals[:_EVALS]:
        yield f"\N{BULLET} {_eval(one)}"
    if (left := told.evals_total - min(_EVALS, len(told.evals))) > 0:
        yield f"\N{BULLET} {left:,} more"
    urls = told.urls
    named = (
        ("Report", urls.report),
        ("Comment", urls.comment),
        ("Check", urls.check),
        ("Run", urls.run),
    )
    if links := [chat_link(words, url) for words, url in named if url]:
        yield " \N{MIDDLE DOT} ".join(links)


def _where(told: Notification) -> str:
    name = chat_line(told.repository, _NAME)
    if told.pull_request is None:
        return f"{name} ({chat_line(told.event, _NAME)})"
    root = told.urls.run.partition("/actions/")[0]
    return chat_link(
        f"{name}, pull request {told.pull_request}", f"{root}/pull/{told.pull_request}"
    )


def _eval(one: StoredEval) -> str:
    total = one.passed + one.failed + one.unmeasured
    asked = f", {show_threshold(one.threshold)} asked" if one.threshold is not None else ""
    lost = f", {one.unmeasured:,} not measured" if one.unmeasured else ""
    passed = f"{one.passed:,} of {total:,} pass{lost}"
    return f"{chat_line(one.eval, _NAME)} {show_score(one.score)}{asked}, {passed}"
