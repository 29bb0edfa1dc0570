"""What keeps git from its server, by what it printed in the C locale. Pure.

Both ways to the server need it: the one that fetches a clone's history, and that of the records.
"""

from __future__ import annotations

import re

CERTIFICATE = r"certificate|SSL CA cert|CAfile"
"""The server's certificate, or the file of CAs: no second try mends either."""

OUTAGE = (
    r"[Cc]ould not resolve|[Cc]onnection (?:was )?(?:refused|reset|timed out|closed)|early EOF"
    r"|SSL|TLS|[Ff]ailed to connect|unable to connect|[Tt]imed? ?out|[Tt]imeout"
    r"|Network is unreachable|No route to host|hung up|returned error: (?:5\d\d|429|408)"
    r"|RPC failed|[Ee]mpty reply|did not end within|too slow|transfer closed|HTTP/2 stream"
    r"|unexpected disconnect|bad line length|invalid server response|protocol error"
    r"|expected (?:flush|packfile|'\w+')|Could not read from remote repository|index-pack"
)
"""What may pass: no answer, a broken one, or one that says so."""


def is_outage(said: str) -> bool:
    """Whether another try may help."""
    return not re.search(CERTIFICATE, said) and bool(re.search(OUTAGE, said))


def is_certificate(said: str) -> bool:
    """Whether the server's certificate is what git does not accept."""
    return bool(re.search(CERTIFICATE, said))
