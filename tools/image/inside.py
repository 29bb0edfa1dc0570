"""What the image has to hold, and what must not be left in it, looked at from inside."""

from __future__ import annotations

from collections.abc import Iterator

from tools.image.engine import Engine, tail

IMAGE = "localhost/gateval:check"
SEALS = (
    "from gateval.adapters.age import new_identity, opener, seal; "
    "private, public = new_identity(); "
    'print(opener({"GATEVAL_IDENTITY": private})(seal(b"sealed and opened", [public])).decode())'
)
"""Encrypts a text for a new key, and opens it with that."""

LEFTOVERS = "pip pip3 gcc cc make g++"

EVERY_MODULE = """
import importlib, pkgutil, gateval, github
found = [one.name for one in pkgutil.walk_packages(gateval.__path__, "gateval.")]
for name in found:
    name.endswith("__main__") or importlib.import_module(name)
print(len(found), "modules can be imported")
"""
"""Nothing that was left out of the image is missed by any of them."""

DISTANCES = """
import sys
from gateval.assertions.matching import levenshtein, rouge_l
levenshtein("kitten", "sitting"), rouge_l("a b", "b")
print("rapidfuzz.distance.metrics_cpp" in sys.modules)
"""
"""Whether the compiled distances are there; without them the library goes on, far slower."""

PERL_MODULES = "perl-modules-5.36 libperl5.36"
"""The packages whose files are left out, and which have to stay known to apt."""

GIT = f"""
set -eu
cd "$(mktemp -d)"
git config --global user.name Gate
git config --global user.email gate@example.com
git config --global protocol.file.allow always
git init --quiet --initial-branch=main part
echo one 1 > part/file
git -C part add file
git -C part commit --quiet --message=one
git init --quiet --initial-branch=main whole
git -C whole submodule --quiet add "$PWD/part"
git -C whole commit --quiet --message=part
git clone --quiet --recurse-submodules "file://$PWD/whole" copy
git -C whole checkout --quiet -b change
echo two 2 > whole/other
git -C whole add other
git -C whole commit --quiet --message=other
git -C copy fetch --quiet origin change
test "$(git -C copy merge-base HEAD FETCH_HEAD)" = "$(git -C copy rev-parse main)"
test "$(git -C copy cat-file -p FETCH_HEAD:other)" = "two 2"
git -C copy submodule status | grep --quiet " part (heads/main)"
git -C whole grep --quiet --perl-regexp "two (?=[0-9])"
git -C copy gc --quiet
test "$(perl -e "print 1")" = 1
dpkg-query --show {PERL_MODULES} > /dev/null
"""
"""What is used of git, the Perl of the base, and the packages that bring Perl's modules back."""


def shape(engine: Engine) -> Iterator[str]:
    """Look at what a runner needs, and for what must not be left in."""
    config = engine.config(IMAGE)
    for key, wanted in (("Entrypoint", ["/usr/local/bin/gateval"]), ("Cmd", ["action"])):
        if config.get(key) != wanted:
            yield f"{key} is {config.get(key)}, not {wanted}."
    for key in ("User", "WorkingDir"):
        if config.get(key) not in (None, "", "/"):
            yield f"{key} is set to {config[key]}; a runner needs it unset."
    if not engine.needs_stand_in:  # Debian's Python brings pip, which is the stand-in's own
        left = shell(engine, f"command -v {LEFTOVERS} || true").split()
        if left:
            yield f"left in the image: {', '.join(left)}."
    uncompiled = shell(engine, "find /opt/gateval/lib -name '*.pyc' | wc -l").strip()
    if int(uncompiled) < 500:
        yield "the packages are not compiled."
    yield from libraries(engine)
    done = engine.call("run", "--rm", "--entrypoint=/bin/sh", IMAGE, "-xc", GIT)
    if done.returncode:
        yield f"git or Perl does not work in the image:\n{tail(done, 4)}"
    imported = f"/opt/gateval/bin/python -c '{EVERY_MODULE}'"
    for command in ("gateval --version", "git --version", "uv --version", imported):
        print("  " + shell(engine, command).strip())


def libraries(engine: Engine) -> Iterator[str]:
    """Use what is imported only where it is needed."""
    filters = "from gateval.candidates.isolation.supervisor.kernel import compiled; "
    filters += "print(compiled(sockets=True) is not None)"
    if shell(engine, f"/opt/gateval/bin/python -c '{filters}'").strip() != "True":
        yield "libseccomp2 is not in the image, so candidates' system calls are not filtered."
    if shell(engine, f"/opt/gateval/bin/python -c '{DISTANCES}'").strip() != "True":
        yield "rapidfuzz's compiled distances are not in the image."
    said = shell(engine, f"/opt/gateval/bin/python -c '{SEALS}'").strip()
    if said != "sealed and opened":
        yield f"sealed manifests cannot be opened in the image: {said}"


def shell(engine: Engine, command: str) -> str:
    """Run a shell command in the image and return what it prints."""
    return engine.must("run", "--rm", "--entrypoint=/bin/sh", IMAGE, "-c", command)
