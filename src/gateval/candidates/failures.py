"""Why a program gave no answer, in sentences, with what it printed last.

A program that greets first has its answers shifted by one, each of them plausible in its place. The
pipe tells: what is printed while the question still lies in it unread is no answer to it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gateval.candidates.base import SeenTrial
from gateval.candidates.contract import ClaimError
from gateval.candidates.processes import LINE_WIDTH, Running, lines_of, telling_lines
from gateval.candidates.program import KIB, MIB, WORKDIR, End, ProgramLimits, Ran
from gateval.domain.trials.trial import DETAIL_LINES, Answer, Cause, NoAnswer
from gateval.ports.model_calls import REFUSED

_USED_UP = {
    End.MEMORY_OVER: "used more memory than it may (GATEVAL_CANDIDATE_MEMORY_MIB)",
    End.DISK_OVER: "wrote more to disk than it may (GATEVAL_CANDIDATE_DISK_MIB)",
    End.PROCESSES_OVER: "had more processes than it may (GATEVAL_CANDIDATE_PROCESSES)",
}


def no_start(reason: str, command: str, cause: Cause = Cause.CANDIDATE) -> NoAnswer:
    """The answer of a candidate whose program could not be started; `command` is its line."""
    repeats = cause is Cause.CANDIDATE
    return NoAnswer(cause=cause, reason=reason, detail=(command,), repeats=repeats)


_NEVER_BEGINS = re.compile(
    r"(?:ModuleNotFoundError|ImportError|SyntaxError|IndentationError|TabError): "
    r"|(?:Error(?: \[ERR_MODULE_NOT_FOUND\])?: )?Cannot find (?:module|package) "
    r"|\S+: can't open file "
)
"""How the lines begin in which Python and Node say that a program is not whole."""


def repeating(silence: NoAnswer, *, prepared: bool) -> NoAnswer:
    """Return why there is no answer, marked if another trial fails likewise: where the candidate
    could not be `prepared`, or its program is not whole. Once a model has answered it may be chance
    that it came that far.
    """
    if silence.cause is not Cause.CANDIDATE or silence.repeats:
        return silence
    began = silence.timed_out or (silence.calls is not None and silence.calls.answered)
    broken = not began and any(map(_NEVER_BEGINS.match, silence.detail[1:]))
    return silence if prepared and not broken else silence.model_copy(update={"repeats": True})


def failure(
    what: str, ran: Ran, argv: tuple[str, ...], limits: ProgramLimits, *, set_up: bool = False
) -> NoAnswer | None:
    """Return why a program that has ended counts as failed, or None if it does not. `what` is the
    subject of the sentence, such as `The agent`.
    """
    if ran.end is End.EXITED and ran.code == 0:
        return None
    if ran.end is End.TIMED_OUT:
        said = f"{what} was not done within {limits.seconds:g} s and was ended."
        return told(said, ran, command_line(argv), set_up=set_up)
    return told(f"{what} {how_it_ended(ran, limits)}.", ran, command_line(argv), set_up=set_up)


def how_it_ended(ran: Ran, limits: ProgramLimits) -> str:
    """Return how a program ended that nobody stopped for its time, as the end of a sentence."""
    if ran.end is End.UNWATCHED:
        return "was ended, because the gate's own process that watches it has ended"
    if ran.end in _USED_UP:
        return f"{_USED_UP[ran.end]} and was ended"
    if ran.end in {End.STDOUT_OVER, End.STDERR_OVER}:
        most = limits.stdout_bytes if ran.end is End.STDOUT_OVER else limits.stderr_bytes
        size = f"{most // MIB} MiB" if most >= MIB else f"{most // KIB} KiB"
        return f"printed more than {size} on {ran.end} and was ended"
    if ran.code == -signal.SIGKILL:
        return "was ended by SIGKILL, perhaps for lack of memory"
    if ran.code < 0:
        names = {int(one): one.name for one in signal.Signals}
        return f"was ended by {names.get(-ran.code, f'signal {-ran.code}')}"
    return f"ended with exit code {ran.code}"


def told(reason: str, ran: Ran, command: str, *, polls: str = "", set_up: bool = False) -> NoAnswer:
    """The answer of a program that failed: the reason, the command's line, what was printed last.

    It is the candidate's fault, unless the gate ended it by losing sight of it.

    `polls` is how a server's log names requests of our own that are left out of it. Of a `set_up`
    the first error is shown too; what an agent logs first it may have got over.
    """

    def shown(data: bytes, count: int) -> Sequence[str]:
        lines = lines_of(data, polls=polls)
        return telling_lines(lines, count) if set_up else lines[max(0, len(lines) - count) :]

    errors = shown(ran.stderr, DETAIL_LINES)
    prints = shown(ran.stdout, DETAIL_LINES - len(errors))
    return NoAnswer(
        cause=Cause.GATE if ran.end is End.UNWATCHED else Cause.CANDIDATE,
        reason=reason,
        detail=(command, *errors, *prints),
        seconds=ran.seconds,
    )


def out_of_reach(given: Answer | NoAnswer, seen: SeenTrial) -> Answer | NoAnswer:
    """Return what a candidate gave, unless its models were out of reach in the end.

    Then the trial says nothing of the candidate, whether it gave up or made an excuse. Where the
    gateway or the provider refused its latest call, that is its own fault: an answer counts as far
    as a model had a say in it, which its `calls` tell, and where there is none, that is told; a
    sentence of the gateway tells more than what the program printed about it.
    """
    given = given.model_copy(update={"calls": seen.calls}) if seen.calls else given
    trouble = seen.trouble
    own_fault = trouble is not None and trouble.cause is Cause.CANDIDATE
    lost = isinstance(given, NoAnswer) and given.cause is not Cause.CANDIDATE
    if trouble and trouble.in_silence and isinstance(given, Answer):
        trouble = trouble if seen.calls and seen.calls.unanswered else None
    if trouble is None or (own_fault and (lost or isinstance(given, Answer))):
        return given
    if isinstance(given, Answer):
        return NoAnswer(
            cause=trouble.cause,
            reason=trouble.reason,
            lasting=trouble.lasting,
            trace=seen.trace,
            calls=seen.calls,
            seconds=given.seconds,
        )
    reason = f"{trouble.reason} {given.reason}"
    detail = given.detail[:1] if reason.startswith(REFUSED) else given.detail
    changed = {"cause": trouble.cause, "reason": reason, "detail": detail}
    return given.model_copy(update={**changed, "lasting": trouble.lasting})


def from_the_export(silence: NoAnswer, scratch: Path) -> NoAnswer:
    """Return it with paths as seen from the export, or from whatever else lies in `scratch`. Where
    that is on this machine differs from run to run, and is nobody's business in a report.
    """
    roots = "|".join(re.escape(str(path)) for path in {scratch, scratch.resolve()})
    own = re.compile(rf"(?:{roots})/[\w.-]+(?:/{WORKDIR}\b)?(/?)")

    def shortened(text: str) -> str:
        return own.sub(lambda found: "" if found[1] else ".", text)

    detail = tuple(shortened(line) for line in silence.detail)
    return silence.model_copy(update={"reason": shortened(silence.reason), "detail": detail})


def command_line(argv: tuple[str, ...]) -> str:
    """Return the command as a person would type it, cut to a line."""
    shown = ["\N{HORIZONTAL ELLIPSIS}" if "\n" in word else word for word in argv]
    return f"$ {shlex.join(shown)}"[:LINE_WIDTH]


def server_line(argv: tuple[str, ...]) -> str:
    """Return the command of a server for a shell; its port is in its environment as well."""
    parts = ([shlex.quote(part) if part else "" for part in one.split("{port}")] for one in argv)
    words = ("$PORT".join(quoted) or "''" for quoted in parts)
    return f"$ {' '.join(words)}"[:LINE_WIDTH]


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_answer_file(home: Path, name: str, most: int) -> bytes:
    """Return the content of the file `name` below `home`, at most `most` bytes.

    No part of the way may be a link, and the file must be a plain one without a second name: a link
    could lead to what only the gate may read. Raises `ClaimError`.
    """
    *folders, last = PurePosixPath(name).parts
    opened: list[int] = []
    try:
        opened.append(os.open(home, _FOLDER))
        for folder in folders:
            opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
        opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
        found = os.fstat(opened[-1])
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise ClaimError(f"`{name}` in its HOME is no plain file")
        if found.st_size > most:
            raise ClaimError(f"`{name}` has {found.st_size:,} bytes, more than {most:,}")
        with os.fdopen(opened.pop(), "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        raise ClaimError(f"it wrote no file `{name}` into its HOME")
    except OSError as error:
        raise ClaimError(f"`{name}` in its HOME cannot be read: {os.strerror(error.errno or 0)}")
    finally:
        for descriptor in opened:
            os.close(descriptor)


SAMPLE_SECONDS = 0.005
"""How often it is looked whether the question was read, and how long a line may be on its way."""

UNREAD_SECONDS = 0.3
"""A program that waits for a question reads it sooner, on a busy machine too."""

LONGEST_SECONDS = 3.0
"""How much longer at most a line is waited for that may still come."""


class AnswerLine(NamedTuple):
    """A line, with its break unless the program ended. `in_step`: it was printed after the question
    was read, and nothing before; `early`: before. A program that answers at once is neither. From
    the second question on, one may have been read together with the one before.
    """

    text: bytes
    in_step: bool
    early: bool


async def answer_line(running: Running, since: int) -> AnswerLine:
    """Wait for the line behind the first `since` printed bytes, once the question was told."""
    loop = asyncio.get_running_loop()
    began, line = loop.time(), asyncio.ensure_future(running.line(since))
    try:
        while not (line.done() or running.heard):
            await asyncio.wait({line}, timeout=SAMPLE_SECONDS)
        unread = loop.time() - began >= UNREAD_SECONDS and not running.ended.done()
        if not line.done():
            await asyncio.sleep(SAMPLE_SECONDS)
        printed = running.stdout.total > since
        return AnswerLine(await line, in_step=not printed, early=printed and unread)
    finally:
        line.cancel()


async def linger(running: Running, slowest: float) -> None:
    """Wait until it prints more, but no longer than one that still owes an answer needs for that;
    `slowest` are the seconds that it took for one.
    """
    more = running.stdout.more()
    seconds = UNREAD_SECONDS + min(2 * slowest, LONGEST_SECONDS)
    await asyncio.wait({more, running.ended}, timeout=seconds)
