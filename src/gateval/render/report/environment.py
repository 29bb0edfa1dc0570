"""The templates' engine. It lets nothing into a comment that the sanitiser has not made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from gateval.safe.sanitize import Safe, block, code, diff, inline

if TYPE_CHECKING:
    import jinja2


class UnsafeInterpolation(TypeError):
    """A template shows text without one of the sanitiser's filters: a bug of the template."""


def only_safe(value: object) -> object:
    """Let numbers and sanitised text pass; raise `UnsafeInterpolation` for everything else."""
    if isinstance(value, Safe | int | float) and not isinstance(value, bool):
        return value
    raise UnsafeInterpolation(f"a template shows {type(value).__name__} {value!r:.80} unsanitised")


@cache
def environment() -> jinja2.Environment:
    """The environment with the filters `inline`, `code`, `block`, `diff`, each with its limit."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("gateval.render"),
        finalize=only_safe,
        autoescape=False,  # noqa: S701 - markdown, not HTML; `finalize` is stricter
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        inline=_filter(inline), code=_filter(code), block=_filter(block), diff=_filter(diff)
    )
    return made


def _filter(sink: Callable[[str, int], Safe]) -> Callable[[object, int], Safe]:
    def sanitise(value: object, limit: int) -> Safe:
        return sink(str(value), limit)

    return sanitise


def fill(template: str, **values: object) -> str:
    """Return the template's text without white space at its ends."""
    return environment().get_template(template).render(**values).strip()
