"""Gives what a container made as root to the workspace's owner, so that the runner can clean up."""

from __future__ import annotations

import os
from pathlib import Path


def hand_over(folder: Path, workspace: Path) -> None:
    """Give a folder in the workspace, all in it and its parents to the workspace's owner.

    Does nothing unless we are root and the owner is not, or when the folder lies elsewhere. Links
    are given away themselves, never what they lead to.
    """
    owner = workspace.stat()
    if os.geteuid() != 0 or owner.st_uid == 0 or not folder.is_relative_to(workspace):
        return
    for parent in (folder, *folder.parents):
        if parent == workspace:
            break
        os.lchown(parent, owner.st_uid, owner.st_gid)
    for _, folders, files, descriptor in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=descriptor, follow_symlinks=False)
