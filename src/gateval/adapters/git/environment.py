"""The environment of a git process: no provider keys, nothing that sends it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping

KEPT = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "SUDO_UID",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
"""Variables handed on. The list is closed, so GIT_DIR, GIT_INDEX_FILE, GIT_CONFIG_PARAMETERS,
GIT_EXTERNAL_DIFF, LD_PRELOAD, API keys and whatever comes next stay out."""

FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Replace refs and grafts tell another history than the one that was pushed.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull + "/none",
    # A partial clone fetches missing objects on its own. The first variable stops that from git
    # 2.44 on; for the older ones no transport is allowed, and the fetch fails at once.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Variables set for every git process."""

CONFIG = (
    f"core.hooksPath={os.devnull}",
    # Empty, not `false`: before 2.36 the value is the name of a program to run.
    "core.fsmonitor=",
    "core.quotePath=false",
)
"""Settings that win over every configuration file: no program from the repository's config runs
just because it is looked at."""


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a git process, made from the one the gate was started with."""
    return {name: environ[name] for name in KEPT if name in environ} | FIXED


def global_options() -> list[str]:
    """Return the options that stand between `git` and its command."""
    return [part for setting in CONFIG for part in ("-c", setting)]
