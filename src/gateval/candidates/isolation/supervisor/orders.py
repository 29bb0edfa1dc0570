"""Orders of the gate to the supervisor: plain values, as JSON in a memory file.

Tuples, and no dataclasses: to import what makes those is a quarter of the supervisor's start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple


class Caps(NamedTuple):
    """The most one candidate may use. `memory` and `disk` in bytes."""

    memory: int
    disk: int
    files: int
    processes: int


class House(NamedTuple):
    """What holds for all candidates of a run.

    `users` is the range of user ids for them, None where they run as the gate's own user.
    `landlock` is the kernel's version of it, 0 for none; `filtered` says that system calls are
    filtered. `visible` may be read, `usable` (devices) opened for writing too, `shared` is for
    everybody's passing files. `ports` are those that TCP may connect to, and `binds` those that it
    may listen on beside one that the kernel chooses; None for all. `folder` is removed in the end.
    `apart` says that programs have PID namespaces of their own, where they are not cut off.
    """

    folder: str
    users: tuple[int, int] | None
    landlock: int
    caps: Caps
    filtered: bool = False
    apart: bool = False
    ports: Sequence[int] | None = None
    binds: Sequence[int] | None = None
    visible: Sequence[str] = ()
    usable: Sequence[str] = ()
    shared: Sequence[str] = ()


class Order(NamedTuple):
    """One program to start.

    `owned` folders become its user's; `lent` ones, with all that is in them, until it is gone.
    `reads` may be read; `owned[0]` and `lent` also written. `ports` and `binds` are open to it
    beside those of the house. `offline` says that it may connect to nothing where the house limits
    that at all, `cut_off` that it may not anywhere, nor leave anything where others look.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    reads: list[str]
    owned: list[str]
    lent: list[str]
    ports: Sequence[int] = ()
    binds: Sequence[int] = ()
    offline: bool = False
    cut_off: bool = False

    @property
    def writes(self) -> list[str]:
        """The folders that may be written."""
        return list(dict.fromkeys((*self.owned[:1], *self.lent)))


def pack(value: House | Order) -> int:
    """Return a memory file that holds the value; the caller closes it."""
    file = os.memfd_create("order", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(file), "wb") as stream:
        stream.write(json.dumps(value._asdict()).encode())
    return file


def unpack(file: int) -> dict[str, Any]:
    """Return what `pack` put into the file, and close it."""
    with os.fdopen(file, "rb") as stream:
        stream.seek(0)
        value: dict[str, Any] = json.loads(stream.read())
    return value


def unpack_house(file: int) -> House:
    """Read a `House` back."""
    value = unpack(file)
    users = value.pop("users")
    return House(
        **value | {"caps": Caps(*value["caps"])}, users=(users[0], users[1]) if users else None
    )


def unpack_order(file: int) -> Order:
    """Read an `Order` back."""
    return Order(**unpack(file))
