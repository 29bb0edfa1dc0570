"""The page as one file: a document that is whole without its program, data, program and style.

A policy in it (CSP) lets nothing run but this one program, and nothing be loaded from anywhere.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

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
from gateval.render.page.text import as_json, seen
from gateval.render.report.kinds import words_of
from gateval.render.report.usage import models_used
from gateval.render.view import ReportView, SectionKind

if TYPE_CHECKING:
    import jinja2

_VALUE = 2_000
"""Characters of one value in the document."""

_CODE = re.compile("`([^`\n]+)`")
"""What our sentences mean as code, in escaped text."""

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
    template = _environment().get_template("page.html.j2")
    values = _values(view)
    bare = template.render(**values, lines="", blocks={})
    data = page_data(view, LIMIT - _RESERVE - len(bare.encode()))
    blocks = {name: _markup(block) for name, block in data.blocks.items()}
    return template.render(**values, lines=_markup(as_json(data.lines)), blocks=blocks)


def _values(view: ReportView) -> dict[str, object]:
    claims = bool(view.frame.unverified)
    words = words_of(one.kind for one in view.plan.evals)
    first, more = reasons(view)
    gaps = [one for section in view.sections if section.kind is SectionKind.GAPS
            for one in section.items]  # fmt: skip
    return {
        "view": view,
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
        "plots": list(map(_markup, dot_plots(view))),
        "extras": list(extras(view)),
        "provenance": _provenance(view),
        "run": view.report.results.info.run,
        "policy": _policy(),
        "style": _markup(_file("page.css")),
        "script": _markup(_file("page.js")),
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


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _policy() -> str:
    style, script = (_hash(_file(name)) for name in ("page.css", "page.js"))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    from markupsafe import Markup, escape

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else seen(str(value), _VALUE)

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("gateval.render.page", ""),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["coded"] = lambda text: _markup(
        _CODE.sub(r"<code>\1</code>", str(escape(shown(text))))
    )
    made.filters["capfirst"] = lambda text: text[:1].upper() + text[1:]
    return made


def _markup(text: str) -> object:
    """Return what is ours as it is."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our files, JSON without `<`, plots and texts that are escaped
