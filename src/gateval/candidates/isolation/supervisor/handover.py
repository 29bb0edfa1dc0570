"""A folder that is lent to a candidate's user while a set-up works in it, and taken back after.

When it is taken back it holds what hostile code left there: links to other people's files above
all. So only what belongs to the candidate's user is touched, links themselves and never what they
point to, and only once no process of that user is left. find(1) does it, which holds folders open
and follows nothing.
"""

from __future__ import annotations

import os

from gateval.candidates.isolation.supervisor.leftovers import run


def lend(folder: str, user: int) -> None:
    """Make this user the owner of all that is ours in the folder.

    Files with several names stay ours: an earlier set-up may have linked one from elsewhere.
    """
    own = str(os.getuid())
    single = ("(", "-links", "1", "-o", "-type", "d", ")")
    _find(folder, "-user", own, *single, "-exec", "chown", "-h", f"{user}:{user}", "{}", "+")


def take_back(folder: str, user: int) -> None:
    """Become the owner of all that is this user's, readable by all and writable by nobody else."""
    mode = "u+rwX,go+rX,go-w,ug-s"
    kinds = ("(", "-type", "f", "-o", "-type", "d", ")")
    _find(folder, "-user", str(user), *kinds, "-exec", "chmod", mode, "{}", "+")
    own = f"{os.getuid()}:{os.getgid()}"
    _find(folder, "-user", str(user), "-exec", "chown", "-h", own, "{}", "+")


def _find(folder: str, *expression: str) -> None:
    run("find", "-P", folder, "-xdev", *expression)
