"""Everything that the gate writes about a report, by sink, and what may not be in it."""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from gateval.domain.audit import AuditEvent, AuditKind, AuditRun, append, read_log
from gateval.domain.decision.decision import Decision, Report, make_report, with_labels
from gateval.domain.forge.check_run import MarkedComment, Stamp, mark, read_mark
from gateval.domain.history.compared import ComparedRecord, compare_runs, table_of
from gateval.domain.history.notification import NotificationUrls, notification_of
from gateval.domain.history.recorded import run_record
from gateval.domain.history.run_record import RunEval, RunFacts, RunRecord, RunScore
from gateval.domain.history.status import Present, shown, status_of
from gateval.domain.history.trend import trend, wavering
from gateval.domain.history.verdicts import HistoryRecord, Occurrence, about_record, record_of
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.manifests.gate_config import NotificationFormat
from gateval.domain.text import BORDER, EMPTY, END, MARKER, PAPER, Safe, Screen
from gateval.domain.verdicts import GateVerdict
from gateval.render.audit_log import entry_line, log_line, summary_section
from gateval.render.github import (
    Explanation,
    Shown,
    announce,
    announce_restated,
    explanation,
    refusal,
    restated_text,
)
from gateval.render.history import (
    render_compared,
    render_flaky,
    render_markdown,
    render_overview,
    render_table,
    render_trend,
)
from gateval.render.junit import render_junit
from gateval.render.notification import render_notification
from gateval.render.plots import render_bars, render_plot
from gateval.render.report.facts import Frame
from gateval.render.report.wording import GLOSSARY
from gateval.render.sarif import render_sarif
from gateval.render.stage import dump
from gateval.render.tables import render_one, render_rows
from gateval.render.terminal.fixture_page import ShowOptions, render_fixture, render_list
from gateval.render.terminal.summary import render_summary
from gateval.render.view import ReportView
from gateval.safe.redaction import Redactor
from gateval.safe.sanitize import label, plain, plain_line
from gateval.safe.workflow_commands import (
    error_command,
    file_entry,
    notice_command,
    warning_command,
)
from tests.helpers.github_markdown import read
from tests.helpers.reports import make
from tests.helpers.runner_log import commands

BREAK = "\u200b"
TOKEN = "gateval-0123456789abcdef"
MARKED = MarkedComment(
    stamp=Stamp(started="2026-11-20T09:00:00Z", run=7, attempt=1),
    head="d" * 40,
)
URL = "https://github.com/octo/shop/actions/runs/7"
TREE = f"https://github.com/octo/shop/blob/{'d' * 40}"
_SOURCE = re.compile(rf"\[([^\[\]\n]*)\]\({re.escape(TREE)}/[A-Za-z0-9/._~%-]+\?plain=1#L[0-9]+\)")
"""Our links to lines: whatever a path holds must have stayed within the address."""

OURS = {
    "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "sub", "blockquote", "span", "a",
    "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Sinks(NamedTuple):
    """Texts by name: markdown for GitHub, text for GitHub, text for a log, data."""

    markdown: Mapping[str, str]
    text: Mapping[str, str]
    log: Mapping[str, str]
    data: Mapping[str, str]


def render_everything(raw: Report, attack: str, redactor: Redactor) -> Sinks:
    """Render a report, and `attack` where single sentences go."""
    report = make_report(redactor.value(raw.results))
    attack = redactor.text(attack)
    report = report._replace(decision=with_labels(report.decision, hostile_rulings(attack)))
    frame = Frame(
        unverified=attack,
        run_url=URL,
        files_url=f"{URL}#artifacts",
        may_bypass=(attack,),
        tree_url=TREE,
    )
    said = announce(ReportView(report, frame))
    view = ReportView(report)
    record, bypassed = stored(report, attack), bypass(report, attack)
    kept = Shown(
        Safe(said.check_summary.partition(BORDER)[2].partition(END)[0].strip()), said.annotations
    )
    by = Frame(run_url=URL, may_bypass=(attack,))
    again = announce_restated(record, bypassed, by, kept)
    bare = announce_restated(record, bypassed, by, Shown())
    event = about_labels(record, attack)
    junit, sarif = render_junit(ReportView(report)), render_sarif(ReportView(report))
    notes = {
        f"annotation {number}": f"{one.path}\n{one.title}\n{one.message}"
        for number, one in enumerate(said.annotations)
    }
    before, after = past(attack)
    width = 33 + len(attack) % 70
    points = trend([after, before], attack[:100], limit=9)
    both = compare_runs([ComparedRecord(before)], [ComparedRecord(after)])
    here = Present(name=attack[:100], agent=attack[:100], closure="0" * 64, fixtures=2)
    status = shown(status_of(here, (after, after.evals[0]), running=False))
    table = table_of([[after]])
    return Sinks(
        markdown={
            "table": render_markdown(table),
            "comment": mark(said.comment, MARKED),
            "check summary": said.check_summary,
            "job summary": said.job_summary,
            "comment restated": mark(again.comment, MARKED),
            "check summary restated": again.check_summary,
            "comment restated without evidence": mark(bare.comment, MARKED),
            "audit": summary_section(event),
            "refusal": refusal(attack),
            "explanation": explanation(about_fixture(report, record, attack)),
        },
        text={
            "title": said.title,
            "title restated": again.title,
            "label": label(attack, 255),
            "junit": html.unescape(junit),
            "sarif": said_in(sarif),
            "chat": chat(record, attack),
            **notes,
        },
        log={
            "terminal": render_summary(ReportView(report), Screen(33 + len(attack) % 70)),
            "show": "".join(
                render_fixture(
                    view.plan, one.facts, ShowOptions(Screen(33 + len(attack) % 70), full=True)
                )
                for fact in view.fixtures
                for one in view.fixture(f"{fact.planned.own_name}/{fact.fixture.name}")
            ),
            "history": render_trend(attack, points, Screen(width))
            + render_overview({attack: points}, Screen(width)),
            "compare": render_compared(both, (attack, attack), Screen(width)),
            "compared table": render_table(table, Screen(width)),
            "get": render_rows("evals", [status], Screen(width), wide=True)
            + render_one(status, Screen(width)),
            "plot": drawn(render_plot(attack, points)),
            "bars": drawn(render_bars(table)),
            "flaky": render_flaky(wavering([after]), Screen(width), runs=1),
            "show list": render_list(ReportView(report), attack, PAPER),
            "error": plain_line(attack, 2_000),
            "captured": plain(attack, 8_000),
            "commands": "\n".join(
                write(attack) for write in (notice_command, warning_command, error_command)
            ),
            "junit": junit,
            "sarif": sarif,
            "restated": restated_text(record, bypassed, unchanged=False),
            "audit": log_line(event),
            "audit log": entry_line(read_log(append(b"", event)[0]).entries[0]),
        },
        data={
            "output": file_entry("why", said.title, TOKEN),
            "results": dump(report.results),
            "decision": dump(report.decision),
        },
    )


def chat(record: HistoryRecord, attack: str) -> str:
    """The message for a chat, without the heading, whose marks are ours. `<` begins an address."""
    urls = NotificationUrls(run=attack, check=attack, comment=attack, report=attack)
    told = notification_of(
        record.model_copy(update={"headline": attack}),
        GateVerdict.BYPASSED,
        repository="octo/shop",
        event="push",
        pull_request=7,
        gate="gateval",
        urls=urls,
    )
    body = render_notification(told, NotificationFormat.SLACK)
    heading, _, text = json.loads(body)["text"].partition("\n")
    assert heading.count("*") == 2
    assert not set("<>*`~") & set(heading.replace("*", "") + text)
    assert not re.search(r"&(?!(?:amp|lt|gt);)|\]\(|:[a-z0-9_+-]+:(?<!:[0-9]:)", text)
    return str(text)


def drawn(svg: str) -> str:
    """A plot, which has to be XML whatever the texts in it are."""
    assert {one.tag.rpartition("}")[2] for one in ET.fromstring(svg).iter()} <= DRAWN  # noqa: S314
    return svg


DRAWN = {"svg", "g", "path", "rect", "circle", "text", "title", "polyline"}


def past(attack: str) -> tuple[RunRecord, RunRecord]:
    """Two records of runs, each text an attack, as somebody who may push can write them."""
    facts = RunFacts(id="7-1", at="2026-11-20T09:00:00Z")
    record = run_record(make("support-eval one base:pass head:fail"), facts)
    assert record is not None
    name = attack[:100]
    says = {"fixture": name, "says": attack[:100], "severity": name, "status": name}
    scored = RunScore(name=name, score=0.5)

    def _of(one: RunEval, marks: str, score: float) -> RunEval:
        told = {**says, "trials": marks, "regressed": score < 1, "score": score}
        told |= {"axes": (scored, scored), "criteria": (scored,), "wavered": 1, "asked_again": 1}
        fixtures = tuple(each.model_copy(update=told) for each in one.fixtures[:1])
        names = {"eval": name, "agent": name, "kind": name, "version": name, "status": name}
        also = {"fixtures": fixtures, "low": score, "high": score, "limits": (0.0, 1.0)}
        return one.model_copy(update={**names, **also, "axes": (scored, scored)})

    evals = [tuple(_of(one, *how) for one in record.evals[:1]) for how in (("ppp", 1), ("ppf", 0))]
    return (
        record.model_copy(update={"evals": evals[0]}),
        record.model_copy(update={"evals": evals[1], "id": "7-2", "url": attack[:100]}),
    )


def about_fixture(report: Report, record: HistoryRecord, attack: str) -> Explanation:
    """All that an explanation can hold, each text of it an attack."""
    fixture = report.results.plan.evals[0].fixtures[0]
    reasons = tuple(
        one.model_copy(update={"fixture": attack[:100], "eval": attack[:100]})
        for one in record.reasons
    )
    return Explanation(
        name=attack[:100],
        head="d" * 40,
        fixture=fixture.model_copy(update={"description": attack}),
        instead=attack,
        evals=(attack,),
        record=record.model_copy(update={"reasons": reasons, "recorded_at": attack}),
        why_not=attack,
        log=URL,
    )


def said_in(sarif: str) -> str:
    """What a viewer shows of a report's SARIF as text. Addresses are data, exact but encoded."""
    results = json.loads(sarif)["runs"][0]["results"]
    places = [place["physicalLocation"] for one in results for place in one.get("locations", ())]
    assert all(
        re.fullmatch(r"[A-Za-z0-9_.~%/-]+", one["artifactLocation"]["uri"]) for one in places
    )
    return "\n".join(one["message"]["text"] for one in results)


def hostile_rulings(attack: str, bypass: LabelStatus = LabelStatus.DENIED) -> LabelDecisions:
    """Labels of somebody whose name, role and words are attacks."""
    use = LabelUse(
        name=attack, by=AuditPerson(login=attack, role=attack), applied_at=attack, event=attack
    )
    label_decision = LabelDecision(
        label=GateLabel.ACCEPT_BAR,
        status=LabelStatus.GRANTED,
        use=use,
        reason=attack,
        entry=1,
        hash="c" * 64,
        pull_request=7,
        head="d" * 40,
    )
    why = "" if bypass is LabelStatus.GRANTED else attack
    other = {"label": GateLabel.BYPASS, "status": bypass, "why": why}
    return LabelDecisions(found=(label_decision, label_decision.model_copy(update=other)))


def bypass(report: Report, attack: str) -> Decision:
    """The decision, bypassed by that somebody."""
    return with_labels(report.decision, hostile_rulings(attack, LabelStatus.GRANTED))


def stored(report: Report, attack: str) -> HistoryRecord:
    """The stored verdict, with words that somebody who may push wrote into it."""
    run, commit = AuditRun(id="7", url=URL), {"commit": "d" * 40}
    plan = report.results.plan
    revisions = {"head": plan.head.model_copy(update=commit), "base": None}
    results = report.results.model_copy(update={"plan": plan.model_copy(update=revisions)})
    record = record_of(
        report._replace(results=results), run=run, recorded_at="2026-11-20T09:00:00Z"
    )
    assert record is not None
    evals = tuple(one.model_copy(update={"eval": attack[:100]}) for one in record.evals)
    reasons = tuple(one.model_copy(update={"text": attack[:200]}) for one in record.reasons)
    return record.model_copy(update={"evals": evals, "reasons": reasons})


def about_labels(record: HistoryRecord, attack: str) -> AuditEvent:
    """The audit event of a denial."""
    at = Occurrence("octo/shop", 7, AuditRun(id=attack, actor=attack), "2026-11-20T09:00:00Z")
    label = hostile_rulings(attack).found[0].use.model_dump()
    told = {"kind": AuditKind.BYPASS_DENIED, "label": label, "reason": attack, "why": attack}
    return AuditEvent.model_validate({**about_record(record, at).model_dump(), **told})


def breaches(sinks: Sinks, secret: str) -> list[str]:
    """Return what got through: sink and kind of attack. Empty is what we want."""
    found = []
    bodies = {_body(text): name for name, text in sinks.markdown.items()}  # most are equal
    for text, name in bodies.items():
        found += [f"{name}: {what}" for what in _markdown(text)]
    for name, text in sinks.text.items():
        found += [f"{name}: {what}" for what in (*_triggers(text), *_characters(text))]
    for name, text in sinks.log.items():
        found += [f"{name}: {what}" for what in (*_log(name, text), *_characters(text))]
    everything = {**sinks.markdown, **sinks.text, **sinks.log, **sinks.data}
    found += [f"{name}: secret" for name, text in everything.items() if leaks(text, secret)]
    return found


_TRIGGERS = {
    "mention": r"@[\w-]",
    "reference": r"(?<!&)#\d|(?i:\bgh-\d)",
    "address": r"://|(?i:\bwww\.)|(?i:\b(?:javascript|data|mailto):[^\s\u200b])",
    "closing keyword": r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+\S*(?:#|GH-|/issues/)",
    "slash command": r"(?m)^[ >*+-]*/[A-Za-z][\w-]*(?:\s|$)",
    "bot phrase": r"(?i)\bbors r|\bok to test|\bretest this please",
    "comment": r"<!--",
}


def _triggers(text: str) -> Iterator[str]:
    for what, pattern in _TRIGGERS.items():
        if re.search(pattern, text):
            yield what


def _characters(text: str) -> Iterator[str]:
    for character in set(text) - {BREAK, "\n"}:
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
            yield f"character U+{ord(character):04X}"


def _body(text: str) -> str:
    """Return a text without marker and borders, which are ours: nothing else may look like one."""
    return text.removeprefix(mark(EMPTY, MARKED)).replace(BORDER, "", 1).replace(END, "", 1)


def _markdown(raw: str) -> Iterator[str]:
    ours = _SOURCE.sub(r"\1", raw).replace(f"[Results and traces]({URL}#artifacts)", "")
    ours = ours.replace(f"[What the words mean]({GLOSSARY})", "")
    for words in (
        "Log and results of this run",
        "Log of this run",
        "an earlier run",
        "What the run reported",
    ):
        ours = ours.replace(f"[{words}]({URL})", "")
    page = read(ours)
    yield from _characters(ours)
    for text in (ours, page.prose, page.code):
        yield from _triggers(text)
    if re.search(r"(?<![\w-])[0-9a-f]{7,64}(?![\w-])", page.prose):
        yield "commit"
    if not set(page.tags) <= OURS or "a" in page.tags:
        yield f"element {set(page.tags) - OURS}"
    if not page.balanced:
        yield "unbalanced"
    if any(read_mark(ours[at:]) for at in (m.start() for m in re.finditer("<", ours))):
        yield "forged marker"
    if MARKER in ours:
        yield "marker"


def _log(name: str, text: str) -> Iterator[str]:
    wanted = ["notice", "warning", "error"] if name == "commands" else []
    if [command.name for command in commands(text)] != wanted:
        yield "runner command"


def leaks(text: str, secret: str) -> bool:
    """Whether a secret can be read from a text, by somebody who tries to."""
    seen = html.unescape(text).replace(BREAK, "")
    written = {seen, unquote_plus(seen), seen.replace("\\/", "/").replace('\\"', '"')}
    once = _unescaped(seen)
    if any(secret in one for one in (*written, once, _unescaped(once))):
        return True
    tokens = (token for one in written for token in re.findall(r"[A-Za-z0-9+/_-]{12,}", one))
    return any(secret.encode() in data for token in tokens for data in _decoded(token))


def _unescaped(text: str) -> str:
    quoted = re.sub(r"[\x00-\x1f]", " ", text)
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return re.sub(r"\\(.)", r"\1", text)


@lru_cache(maxsize=10_000)
def _decoded(token: str) -> tuple[bytes, ...]:
    """What a token holds in base64, wherever in it that begins. Most tokens come in all views."""
    plain = token.replace("-", "+").replace("_", "/")
    parts = (plain[skip:] for skip in range(4))
    return tuple(base64.b64decode(part + "A" * (-len(part) % 4)) for part in parts)
