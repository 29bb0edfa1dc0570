"""`script`: a program of the repository, in any language, assesses the trial."""

from __future__ import annotations

import shlex
from typing import ClassVar

from pydantic import Field

from gateval.assertions.own.base import OwnCheck
from gateval.domain.manifests.fixture import CheckFiles
from gateval.judging.neutral import shorten


class Script(OwnCheck):
    """A program of one's own says whether the trial passes.

    It gets one JSON object on standard input (`input`, `prompt`, `output`, the numbered `steps`,
    `fixture`, `vars` and more), and prints one: `score` from 0 to 1, or `passed`, or both;
    `reason`, a sentence; `steps`, the numbers of those it rests on. What it prints on standard
    error is for people. A crash, a time-out or any other answer is an error, never a pass.

    It runs in the folder of the manifest, after the trial, apart from every candidate: with its own
    files and nothing else, as a user of its own, without keys. Its own files are the folder of the
    program that `command` names, or that file alone if it stands beside the manifest; no candidate
    gets them. Where the fixture has a playground, GATEVAL_PLAYGROUND is a copy of its end state.
    """

    type: ClassVar[str] = "script"

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )

    @property
    def named(self) -> str:
        """See `OwnCheck`."""
        return f"`{shorten(shlex.join(self.command), 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `OwnCheck`."""
        del files
        return self.command
