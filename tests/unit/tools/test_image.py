"""The parts of the image's tools that need no image."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools import action_copy
from tools.image.base import DOCKERFILE, ROOT, base_reference, machines
from tools.image.inside import PERL_MODULES
from tools.image.pin import main, pinned

DIGEST = "sha256:" + "a" * 64


def test_the_base_is_named_by_tag_and_digest() -> None:
    name, _, digest = base_reference().partition("@")
    assert name == "docker.io/library/python:3.12-slim-bookworm"
    assert len(digest) == len(DIGEST)


def test_what_brings_perls_modules_back_is_said_in_the_guide_and_checked_in_the_image() -> None:
    line = f"--reinstall {PERL_MODULES}"
    assert line in DOCKERFILE.read_text(encoding="utf-8")
    assert line in (ROOT / "docs/guides/other-ci.md").read_text(encoding="utf-8")


def test_an_index_says_which_machines_it_is_for() -> None:
    one = {"platform": {"os": "linux", "architecture": "amd64"}}
    other = {"platform": {"os": "unknown", "architecture": "unknown"}}
    assert machines(json.dumps({"manifests": [one, other]})) == {"amd64"}
    assert machines(json.dumps({"config": {}})) == set()


def test_a_released_image_is_written_into_the_action() -> None:
    before = action_copy.ACTION.read_text(encoding="utf-8")
    once = pinned(before, "v1.2.3", DIGEST)
    assert f"\n  image: docker://ghcr.io/gateval/gateval:v1.2.3@{DIGEST}\n" in once
    again = pinned(once, "v1.2.4", DIGEST)
    assert [one for one in again.splitlines() if "v1.2." in one] == [
        f"  image: docker://ghcr.io/gateval/gateval:v1.2.4@{DIGEST}"
    ]
    changed = [one for one in before.splitlines() if one not in once.splitlines()]
    assert len(changed) == 1


def release(folder: Path, *commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
    """Run the commands of the workflow on a copy of what it checks out."""
    for name in ("tools", "action.yml", "runner", "examples/images", ".github/actions"):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    command = [sys.executable, "-m", "tools.image.pin"]
    return [
        subprocess.run([*command, *one], cwd=folder, capture_output=True, text=True, check=False)
        for one in commands
    ]


def test_a_release_names_its_image_by_digest_or_is_refused(tmp_path: Path) -> None:
    before, pin, after, other = release(
        tmp_path,
        ["--verify", "v1.2.3"],
        ["v1.2.3", DIGEST],
        ["--verify", "v1.2.3"],
        ["--verify", "v1.2.4"],
    )
    assert before.returncode == 2
    assert (
        "has to name the image of v1.2.3 by its digest, and says: image: docker://" in before.stderr
    )
    assert (pin.returncode, after.returncode) == (0, 0), pin.stderr + after.stderr
    assert other.returncode == 2
    image = yaml.safe_load((tmp_path / "action.yml").read_text(encoding="utf-8"))["runs"]["image"]
    assert image == f"docker://ghcr.io/gateval/gateval:v1.2.3@{DIGEST}"


def test_both_workflows_look_at_the_digest() -> None:
    """The release before it asks for a tag, and the tag itself."""
    folder = ROOT / ".github/workflows"
    steps = {
        name: [
            step.get("run", "")
            for step in yaml.safe_load((folder / name).read_text())["jobs"][job]["steps"]
        ]
        for name, job in (("release.yml", "pin"), ("tagged.yml", "digest"))
    }
    assert any('--verify "v$VERSION"' in run for run in steps["release.yml"])
    assert any('--verify "$GITHUB_REF_NAME"' in run for run in steps["tagged.yml"])


@pytest.mark.parametrize(
    ("tag", "digest"),
    [("1.2.3", DIGEST), ("v1", DIGEST), ("v1.2.3", "sha256:abc"), ("v1.2.3\nx: y", DIGEST)],
)
def test_nothing_else_is_written(tag: str, digest: str) -> None:
    with pytest.raises(ValueError, match="are needed"):
        pinned("  image: docker://x\n", tag, digest)
    assert main([tag, digest]) == 2


@pytest.mark.parametrize("copy", action_copy.COPIES, ids=lambda copy: copy.name)
def test_every_copy_has_the_same_inputs_and_outputs_and_a_step_after_the_job(
    copy: action_copy.Copy,
) -> None:
    action = yaml.safe_load(action_copy.ACTION.read_text(encoding="utf-8"))
    other = yaml.safe_load(copy.path.read_text(encoding="utf-8"))
    for part in ("description", "inputs", "outputs"):
        assert other[part] == action[part]
    runs = other["runs"]
    assert runs["post-if"] == "always()"
    if runs["using"] == "node24":
        assert all((copy.path.parent / runs[entry]).is_file() for entry in ("main", "post"))
    else:
        assert runs["post-entrypoint"] == action["runs"]["post-entrypoint"]


def test_the_copy_differs_in_nothing_but_name_and_image() -> None:
    lines = action_copy.ACTION.read_text(encoding="utf-8").splitlines()
    copy = action_copy.page().splitlines()[1:]
    changed = [two for one, two in zip(lines, copy, strict=True) if one != two]
    assert [line.split(":")[0].strip() for line in changed] == ["name", "image"]
    assert (action_copy.COPY.parent / "../../../Dockerfile").resolve().is_file()
