"""Leaves Git LFS pointers out of what a new Agent gets: it would find them, not the files. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from posixpath import join

from gateval.domain.setup.starter import Sketch

_BELOW = "/**"


def without_pointers(
    sketch: Sketch, files: Iterable[str], pointers_of: Callable[[list[str]], Collection[str]]
) -> Sketch:
    """Return the sketch of a program with patterns that match no Git LFS pointer, which it names.

    `files` are all tracked paths, `pointers_of` tells which of some are pointers.
    """
    program = sketch.program
    if program is None:
        return sketch
    root, own = program.root, sketch.watch or (f"/{program.root}{_BELOW}",)
    inputs = program.setup.inputs if program.setup else ()
    folders = [_folder(one, root) for one in (*own, *program.include, *inputs)]
    near = [path for path in files if any(_is_in(path, folder) for folder in folders)]
    pointers = frozenset(pointers_of(near))
    if not pointers:
        return sketch

    def kept(patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(one for each in patterns for one in _kept(each, root, near, pointers))

    watch = kept(own)
    setup = program.setup and program.setup._replace(inputs=kept(inputs))
    left_out = tuple(sorted({*program.left_out, *pointers}))
    program = program._replace(include=kept(program.include), setup=setup, left_out=left_out)
    return sketch._replace(program=program, watch=sketch.watch if watch == own else watch)


def _folder(pattern: str, root: str) -> str:
    whole = pattern[1:] if pattern.startswith("/") else join(root, pattern)
    return whole.removesuffix(_BELOW)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _kept(
    pattern: str, root: str, files: Collection[str], pointers: Collection[str]
) -> Iterator[str]:
    """Yield a pattern, or those of what is beside the pointers in its folder."""
    folder = _folder(pattern, root)
    if not any(_is_in(path, folder) for path in pointers):
        yield pattern
        return
    inside = [path for path in files if path.startswith(f"{folder}/")]
    below = {path[len(folder) + 1 :].partition("/")[::2] for path in inside}
    for name, is_folder in sorted({(name, bool(rest)) for name, rest in below}):
        yield from _kept(f"/{folder}/{name}" + _BELOW * is_folder, root, inside, pointers)
