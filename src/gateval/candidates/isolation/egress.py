"""What candidates may connect to, where the policy limits it (`policy.egress`), and listen on.

Landlock holds TCP to ports, of any address; the filter of system calls refuses the sockets and the
calls that Landlock does not see. UDP gets out all the same (docs/security.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from gateval.candidates.isolation.supervisor.landlock import PORTS_SINCE
from gateval.candidates.isolation.walls import Walls
from gateval.domain.manifests.policy.gate_config import Egress
from gateval.domain.manifests.policy.words import EgressPolicy
from gateval.errors import UsageError


def ports_allowed(egress: Egress, gateway: int) -> list[int] | None:
    """Return the ports that TCP may connect to, None for all; `gateway` is the gateway's port."""
    if egress is EgressPolicy.OPEN:
        return None
    return sorted({gateway, *(egress if isinstance(egress, tuple) else ())})


def ports_to_listen_on(
    listed: Iterable[int], walls: Walls, *, upstream_here: bool
) -> list[int] | None:
    """Return the ports that candidates may listen on beside their own, None for all.

    They are held to that where a provider answers on this machine, whose port one could take when
    it is down, and where the kernel can.
    """
    if not upstream_here or walls.landlock < PORTS_SINCE:
        return None
    return sorted(set(listed))


def egress_text(egress: Egress) -> str:
    """Return what holds of it in a few words for the results; empty if all is open."""
    if egress is EgressPolicy.OPEN:
        return ""
    ports = sorted(set(egress)) if isinstance(egress, tuple) else []
    listed = f" and port {', '.join(map(str, ports))}" if ports else ""
    return f", TCP to the gateway{listed} only"


def refuse_what_is_not_held(egress: Egress, walls: Walls) -> None:
    """Raise `UsageError` where the policy asks for a limit that nothing here would hold."""
    if egress is EgressPolicy.OPEN or (walls.landlock >= PORTS_SINCE and walls.filtered):
        return
    found = f"Landlock {walls.landlock}" if walls.landlock else "no Landlock"
    calls = "a filter of system calls" if walls.filtered else "no filter of system calls"
    raise UsageError(
        "policy.egress limits what agents may connect to, and nothing here can hold them to "
        f"it: there is {found} and {calls}.",
        hint=f"It takes Landlock {PORTS_SINCE} (Linux 6.7), seccomp and the library libseccomp2. "
        "Run the gate where they are, or set policy.egress to `open`.",
    )
