"""What is found on the way through the files of AgentV."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.repository.place import Problem


@dataclass
class Findings:
    """What is wrong, and which files were read.

    `own` say what is asked, so no candidate gets them; `shown` are told to candidates, too.
    `told` are files of which it is said that nothing names them, `passed_over` those that look like
    some of AgentV and are not read. `filled` counts the characters that were filled into texts.
    """

    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    filled: int = 0
    told: set[str] = field(default_factory=set)
    passed_over: list[Problem] = field(default_factory=list)
