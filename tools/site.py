"""Builds the documentation as a static site with search, from the pages that GitHub shows.

`python -m tools.site ZENSICAL FOLDER` writes `FOLDER/html` (`make site`: `build/site/html`). The
pages are those of `docs/`, the README, CONTRIBUTING and the changelog. Links that leave the site
lead to the repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/gateval/gateval"
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Where pages that stand above `docs/` are on the site."""

_LINK = re.compile(r"(\]\(|(?:src|href)=\")(?!\w+:|#)([^)\"#\s]*)(#[^)\"\s]*)?(?=[)\"])")
_INFO = re.compile(r"^```(\w+)[^\n]*$", re.MULTILINE)
"""The first line of a fenced block: what tests do with it stands behind its language."""


def pages() -> dict[str, str]:
    """Return every page of the site, its path there and its text."""
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ROOT_PAGES)]
    made = {}
    for source in sources:
        path = source.relative_to(ROOT).as_posix()
        name = _place(path)
        led = _LINK.sub(partial(_led, source=path, name=name), source.read_text("utf-8"))
        made[name] = _INFO.sub(r"```\1", led)
    return made


def _place(path: str) -> str:
    """Return where a page of the repository is on the site."""
    return ROOT_PAGES.get(path, path.removeprefix("docs/"))


def _led(link: re.Match[str], source: str, name: str) -> str:
    """Return a link as it is on the site, from the page `name` that stands in `source`."""
    before, target, anchor = link[1], link[2], link[3] or ""
    here = PurePosixPath(name).parent
    path = normpath(f"{PurePosixPath(source).parent}/{target}") if target else source
    folder = (ROOT / path).is_dir()
    page = f"{path}/README.md" if folder else path
    if page in ROOT_PAGES or (page.startswith("docs/") and (ROOT / page).exists()):
        return f"{before}{relpath(_place(page), here)}{anchor}"
    kind = "tree" if folder else "blob"
    return f"{before}{REPOSITORY}/{kind}/main/{path}{anchor}"


def build(zensical: Path, folder: Path) -> int:
    """Write the pages and the site (`html`) into a folder with this program; return its exit code.

    It is strict: a link that leads nowhere is an error.
    """
    written = folder / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", written, ignore=shutil.ignore_patterns("*.md"))
    for name, text in pages().items():
        page = written / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    shutil.copyfile(ROOT / "zensical.toml", folder / "zensical.toml")
    command = [str(zensical), "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).absolute(), Path(sys.argv[2])))
