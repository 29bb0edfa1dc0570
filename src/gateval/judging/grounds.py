"""What a judge is shown of a good answer beside the rubric, in trials and calibrations alike."""

from __future__ import annotations

from gateval.domain.manifests.fixtures.reference import Reference


def with_grounds(rubric: str, given: Reference) -> str:
    """Return a rubric with the expected answer of a case and the reference it has to rest on."""
    expected, reference = given.text, given.context_text
    parts = [
        rubric,
        f"Expected answer:\n{expected}" if expected else "",
        f"Reference:\n{reference}" if reference else "",
    ]
    return "\n\n".join(part for part in parts if part)
