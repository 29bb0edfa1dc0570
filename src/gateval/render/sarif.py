"""SARIF 2.1.0: what is wrong, for tools that show findings in code, such as code scanning.

One rule for each kind of finding, one result for each finding, on the line where it can be mended.
What blocks is an `error`, what is uncertain or was not measured a `warning`. The verdict stands in
the invocation: `exitCode` is the gate's. Equal trials give equal bytes.
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from gateval.domain.paths import resolve_path
from gateval.domain.problems import SourceLocation
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.findings import RULES, Finding
from gateval.render.view import ReportView
from gateval.safe.sanitize import sarif_text

MOST = 5_000
"""Results in one file: what GitHub shows of one upload. The worst come first."""

HOME = "https://github.com/gateval/gateval"
FINGERPRINT = "gateval/v1"

_MESSAGE = 2_000
_UNDECIDED = {GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE}


def render_sarif(view: ReportView) -> str:
    """Return the SARIF log, UTF-8, ending with a newline."""
    found = (*view.findings, *view.other_findings)
    decision = view.report.decision
    invocation: dict[str, Any] = {
        "executionSuccessful": decision.verdict not in _UNDECIDED,
        "exitCode": decision.exit_code,
        "exitCodeDescription": decision.verdict.value,
    }
    if (left := len(found) - MOST) > 0:
        said = {"text": f"{left:,} more findings are left out; the worst {MOST:,} are here."}
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": said}]
    run = {
        "tool": {"driver": _driver(view)},
        "invocations": [invocation],
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in found[:MOST]],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _driver(view: ReportView) -> dict[str, Any]:
    page = f"{HOME}/blob/main/docs/reference/publishing.md"
    driver: dict[str, Any] = {
        "name": "Gateval",
        "informationUri": HOME,
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": f"{words}."},
                "fullDescription": {"text": f"{words}."},
                "help": {"text": f"The report of the run says more. What is shown: {page}"},
                "helpUri": page,
            }
            for name, words in RULES.items()
        ],
    }
    if version := view.report.results.info.gateval:
        driver["version"] = sarif_text(version, 100)
    return driver


def _result(found: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": list(RULES).index(found.rule),
        "level": "error" if found.blocks else "warning",
        "message": {"text": sarif_text(f"{found.title}\n{found.message}".strip(), _MESSAGE)},
        "partialFingerprints": {FINGERPRINT: found.key},
    }
    if location := _location(found.place):
        result["locations"] = [{"physicalLocation": location}]
    return result


def _location(place: SourceLocation) -> dict[str, Any] | None:
    """Return where it is, relative to the root; None for what leads out of the repository."""
    path = resolve_path("", place.file)
    if not path:
        return None
    return {
        "artifactLocation": {"uri": quote(path, errors="replace"), "uriBaseId": "ROOT"},
        "region": {"startLine": max(1, place.line)},
    }
