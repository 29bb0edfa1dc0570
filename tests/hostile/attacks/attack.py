"""One attack: a small program, and how its trial may end.

The programs begin with `PRELUDE`. Whoever gets at something that is not a candidate's prints
`REACHED`; whoever gets nowhere prints `nothing reached`.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

PRELUDE = '''
import ctypes, json, os, signal, socket, stat, subprocess, sys, threading, time
LAYOUT = json.loads(os.environ["LC_LAYOUT"])
HOUR = LAYOUT["hour"]
HOME, TMP = os.environ["HOME"], os.environ["TMPDIR"]
libc = ctypes.CDLL(None, use_errno=True)

def attempt(what, action, good=lambda result: True):
    """Try it; what raises, or gives a result that is not `good`, got nowhere."""
    try:
        result = action()
        if good(result): print("REACHED", what, repr(result)[:300], flush=True)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)): raise

def strangers():
    """All processes but those of this trial."""
    session = os.getsid(0)
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) > 0:
            try: own = os.getsid(int(name)) == session
            except OSError: own = False
            if not own: yield int(name)

def read(path, size=65536):
    with open(path, "rb") as file: return file.read(size)

def detach(work):
    """Do `work` in a daemon's daemon, which has left session and group."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try: work()
            finally: os._exit(0)
        os._exit(0)

def nothing():
    print("nothing reached", flush=True)
'''


@dataclass(frozen=True)
class Attack:
    """`ends` is part of the reason of an error, None where it answers; `either` allows both.

    `as_user` is what it reaches where candidates have the gate's own user: the word after REACHED.
    `disturbs` says that it does harm there, so that it is run against users of their own only.
    """

    name: str
    body: str
    ends: str | None = None
    either: bool = False
    as_user: str = ""
    disturbs: bool = False
    seconds: float = 20

    @property
    def program(self) -> str:
        """The whole program."""
        return PRELUDE + dedent(self.body)
