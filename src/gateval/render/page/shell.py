"""What `gateval view` serves first, and the policy for it and all that it shows."""

from __future__ import annotations

from gateval.render.page.site import STYLES
from gateval.render.page.template import environment, markup, own_file, policy


def render_shell() -> str:
    """Return the frame around pages: nothing of a run is in it."""
    template = environment().get_template("view.html.j2")
    styles = [markup(own_file(name)) for name in STYLES]
    return template.render(styles=styles, script=markup(own_file("view.js")))


def shell_policy() -> str:
    """Return the policy of the frame, which the pages in it inherit beside their own."""
    return policy(
        STYLES,
        ("view.js", "page.js"),
        "connect-src 'self'; frame-src blob:; frame-ancestors 'none'; ",
    )
