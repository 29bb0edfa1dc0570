"""Tells others of a decision by webhooks, as the policy of the base says.

The address is in the environment of the gate's job, which no change of a file reaches. A run that
gives no verdict tells nobody, and an address that takes nothing changes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.adapters.webhooks import Webhook, post_all
from gateval.app.action.context import ActionEvent
from gateval.app.action.result import ActionResult
from gateval.domain.decision.decision import Decision
from gateval.domain.history.notification import NotificationUrls, notification_of
from gateval.domain.history.verdicts import HistoryRecord
from gateval.domain.manifests.gate_config import NotificationPolicy, Policy


def notify(
    event: ActionEvent,
    policy: Policy,
    decision: Decision,
    record: HistoryRecord | None,
    result: ActionResult,
    report_url: str = "",
) -> Iterator[str]:
    """Tell those who want to hear of this verdict; yield a sentence for each who was not told.

    `record` holds what the evals say, as everybody may see it; `result` is what was said on GitHub.
    """
    asked = [one for one in policy.notify if decision.verdict in one.on]
    if not asked or record is None or not event.binds:
        return
    from gateval.render.notification import render_notification

    urls = NotificationUrls(
        run=event.context.run_url,
        check=result.outputs.get("check-url", ""),
        comment=result.outputs.get("comment-url", ""),
        report=report_url,
    )
    told = notification_of(
        record,
        decision.verdict,
        repository=event.trigger.repository,
        event=event.trigger.event.value,
        pull_request=event.resolved.number,
        gate=event.target.stamp.gate,
        urls=urls,
    )
    settings = event.context.settings
    found, missing = [], []
    for one in _once(asked):
        url = settings.environ.get(one.url_from, "").strip()
        if not url:
            missing.append(one.url_from)
            continue
        body = render_notification(told, one.format)
        found.append((one.url_from, Webhook(url, body, private=one.private_network)))
    for name in missing:
        yield f"Nobody was told by {name}: the gate's step has no such variable, or an empty one."
    why = post_all([hook for _, hook in found], settings.environ, settings.ca_file)
    for (name, _), said in zip(found, why, strict=True):
        if said:
            yield f"Nobody was told by the address in {name}: {said}."


def _once(asked: Iterable[NotificationPolicy]) -> Iterator[NotificationPolicy]:
    """Yield what is asked, each address and format once."""
    known = {(one.url_from, one.format): one for one in asked}
    yield from known.values()
