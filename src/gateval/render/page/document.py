"""The page as one file: a document that is whole without its program, data, program and style.

A policy in it (CSP) lets nothing run but this one program, and nothing be loaded from anywhere.
"""

from __future__ import annotations

from gateval.domain.trials.trial import Cause
from gateval.domain.verdicts import GateVerdict
from gateval.render.page.data import LIMIT, page_data
from gateval.render.page.screens import (
    MOST,
    besides,
    changes,
    extras,
    gap,
    reasons,
    rows_of,
    states,
)
from gateval.render.page.spending import dot_plots
from gateval.render.page.template import environment, markup, own_file, policy
from gateval.render.page.text import as_json
from gateval.render.report.usage import models_used
from gateval.render.report.wording import GLOSSARY, words_of
from gateval.render.view import ReportView, SectionKind

_RESERVE = 4_000
"""Bytes kept free."""


_SIGNS = {
    GateVerdict.PASS: "\N{CHECK MARK}",
    GateVerdict.FAIL: "\N{MULTIPLICATION X}",
    GateVerdict.BYPASSED: "!",
}
"""The signs of verdicts, `?` for the others: characters of every font."""


def render_page(view: ReportView) -> str:
    """Return the page as HTML of at most `LIMIT` bytes in ASCII and UTF-8."""
    template = environment().get_template("page.html.j2")
    values = _values(view)
    bare = template.render(**values, lines="", blocks={})
    data = page_data(view, LIMIT - _RESERVE - len(bare.encode()))
    blocks = {name: markup(block) for name, block in data.blocks.items()}
    return template.render(**values, lines=markup(as_json(data.lines)), blocks=blocks)


def _values(view: ReportView) -> dict[str, object]:
    claims = bool(view.frame.unverified)
    words = words_of(one.kind for one in view.plan.evals)
    first, more = reasons(view)
    gaps = [one for section in view.sections if section.kind is SectionKind.GAPS
            for one in section.items]  # fmt: skip
    return {
        "view": view,
        "glossary": GLOSSARY,
        "verdict": "unverified" if claims else view.verdict.value,
        "signs": {} if claims else _SIGNS,
        "said": f"Unverified, claims {view.verdict}" if claims else view.verdict.capitalize(),
        "rows": rows_of(view),
        "manifest": words.manifest,
        "cases": words.cases,
        "counts": states(view),
        "reasons": first,
        "more_reasons": more,
        "besides": besides(view)[: MOST - len(first)],
        "gaps": list(map(gap, gaps)),
        "nobodys_fault": not any(one.cause is Cause.CANDIDATE for one in gaps),
        "changes": changes(view),
        "plots": list(map(markup, dot_plots(view))),
        "extras": list(extras(view)),
        "provenance": _provenance(view),
        "run": view.report.results.info.run,
        "policy": policy(["page.css"], ["page.js"]),
        "style": markup(own_file("page.css")),
        "script": markup(own_file("page.js")),
    }


def _provenance(view: ReportView) -> list[tuple[str, str]]:
    plan, info = view.plan, view.report.results.info
    said = [
        ("Run", f"{info.run}, {info.started_at[:16].replace('T', ' ')} UTC" if info.run else ""),
        ("Resumed", info.resumed),
        ("Head", plan.head.commit or "the working tree, uncommitted changes included"),
        ("Base", (plan.base.commit or plan.base.name) if plan.base else ""),
        ("Policy", f"{plan.policy_source} {plan.policy_digest[:12]}".strip()),
        ("Models", ", ".join(models_used(view.report))),
        ("Isolation", info.isolation),
        ("Gateval", info.gateval),
    ]
    return [(name, value) for name, value in said if value]
