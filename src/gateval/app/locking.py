"""What `lock` does: pins the files of other repositories that manifests name."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.adapters.new_files import write_over
from gateval.app.foreign import git_sources
from gateval.app.registries import MEND, registries, valid_snapshot
from gateval.domain.repository.sources import LOCK_PATH, SourcesLock
from gateval.errors import EXIT_PASS
from gateval.pipeline.foreign import Pinning
from gateval.render.report.words.counts import count


def lock_sources() -> int:
    """Pin every file of another repository that manifests here name, as it is now.

    Raises `InvalidManifests` with all that keeps one from being read.
    """
    repository = open_repository(Path.cwd())
    pinning = Pinning(git_sources(os.environ))
    known = replace(registries(), foreign=pinning)
    valid_snapshot(repository, repository.worktree(), known=known, hint=MEND)
    lock = SourcesLock(files=dict(sorted(pinning.files.items())))
    if not lock.files:
        print("No manifest here names a file of another repository; nothing was written.")
        return EXIT_PASS
    write_over(
        repository.root, LOCK_PATH, json.dumps(lock.model_dump(mode="json"), indent=2) + "\n"
    )
    print(f"wrote {LOCK_PATH}: {count(len(lock.files), 'file')} of other repositories. Commit it.")
    return EXIT_PASS
