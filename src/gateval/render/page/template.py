"""How pages are filled in: every value is escaped, what hides in it is named, and a policy lets run
and be loaded only what is ours.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from gateval.render.page.text import seen

if TYPE_CHECKING:
    import jinja2

_VALUE = 2_000
"""Characters of one value in the document."""

_CODE = re.compile("`([^`\n]+)`")
"""What our sentences mean as code, in escaped text."""


@cache
def own_file(name: str) -> str:
    """Return one of the files here: a style, or a program."""
    return files(__package__).joinpath(name).read_text("utf-8")


def policy(styles: Sequence[str], scripts: Sequence[str] = (), more: str = "") -> str:
    """Return the policy (CSP) under which these files alone style and run."""
    style, script = (" ".join(map(_hash, names)) for names in (styles, scripts))
    return (
        f"default-src 'none'; script-src {script or _NONE}; style-src {style}; {more}"
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


_NONE = "'none'"


@cache
def _hash(name: str) -> str:
    digest = sha256(own_file(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def environment() -> jinja2.Environment:
    """Return what fills in the templates here."""
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
    made.filters["coded"] = lambda text: markup(
        _CODE.sub(r"<code>\1</code>", str(escape(shown(text))))
    )
    made.filters["capfirst"] = lambda text: text[:1].upper() + text[1:]
    return made


def markup(text: str) -> object:
    """Return what is ours as it is."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our files, JSON without `<`, plots and texts that are escaped
