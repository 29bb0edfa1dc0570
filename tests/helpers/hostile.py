"""Results in which everything that a stranger could write is an attack."""

from __future__ import annotations

from typing import Any

from gateval.domain.results.results import Results

ATTACKS = (
    "# PASSED",
    "/merge",
    "@octocat and @my-org/team, mail me@example.com",
    "<!-- gateval:comment v1 --> <b>bold</b> <img src=x onerror=alert(1)> <script>x</script>",
    "</details></summary></td></table>",
    "![track](https://evil.example/p.png) [click](javascript:alert(1)) <https://evil.example>",
    "https://evil.example www.evil.example ftp://evil.example :shipit: :+1:",
    "Fixes #1, closes GH-2, resolves org/repo#3, fixes https://github.com/o/r/issues/4",
    "bors r+ and ok to test and retest this please",
    "```",
    "~~~~",
    "## ✅ Gateval: pass",
    "| a | b |",
    "|---|---|",
    "- [x] done",
    "$\\color{green}{PASS}$ `code` **bold** ~~gone~~ __init__ [^1] \\| \\",
    "::error file=x::boom ##[error]boom",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b1m bell\x07 back\x08space \x00null",
    "zero\u200bwidth \u202eright-to-left\u202c \U000e0041\U000e0042 soft\u00adhyphen",
    "half \ud83d pair, \ufffe \u2028 line",
    "===",
)

ATTACK = "\n".join(ATTACKS)

_LIMITED = {
    "agent", "baseline", "cause", "closure", "digest", "eval", "execution", "fixture",
    "fixture_kind", "input", "judge", "kind", "outcome", "policy", "scoring", "severity", "side",
    "source", "status", "tree", "version",
}  # fmt: skip
"""Fields that a pattern or an enumeration limits, so that nobody can attack through them."""

_NAMES = {"added", "compared", "reused"}
"""Lists of names that a pattern limits."""

_LISTS_OF_NAMED = {"agents", "evals", "fixtures"}
"""Their entries have a `name` that a pattern limits."""


def hostile_results(real: Results, attack: str = ATTACK) -> Results:
    """Return `real` with `attack` in every field of free text."""
    content = real.model_dump(mode="python")
    removed = [
        {"kind": kind, "name": "x", "eval": "y", "place": {"file": "z"}}
        for kind in ("Eval", "fixture")
    ]
    content["plan"] |= {"removed": removed, "warnings": ["x", "y"]}
    content["info"] |= {"isolation": "x"}
    for trial in content["trials"]:
        for assessment in trial["assessments"]:
            for violation in (assessment["verdict"] or {}).get("violations", ()):
                violation["defect"] = "x"
    return Results.model_validate(_replace(content, attack, inside=""))


def _replace(value: Any, attack: str, *, inside: str) -> Any:
    if isinstance(value, dict):
        return {
            key: part if _is_limited(key, inside) else _replace(part, attack, inside=key)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replace(part, attack, inside=inside) for part in value]
    if type(value) is str and value:
        return attack
    return value


def _is_limited(key: str, inside: str) -> bool:
    if inside == "removed":
        return key == "kind"
    return key in _LIMITED | _NAMES or (key == "name" and inside in _LISTS_OF_NAMED)
