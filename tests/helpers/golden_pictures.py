"""Pictures of pages as goldens: a quarter of the size, 16 greys, compared tile by tile.

Another version of a browser draws letters a little differently, and lines drift by a pixel. A block
that has moved, was cut or is gone changes whole tiles. A short one changes few, but where it was
there is nothing as dark near by: so small windows are looked for a little around their place.
A cell of a table is shorter still: a picture holds where the words of each begin.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

SCALE = 0.25
"""What a page is drawn at (`device_scale_factor`)."""

TILE_WIDTH, TILE_HEIGHT = 10, 12
TOLERANCE = 16.0
"""Of 255: so much may the mean of a tile differ."""

SHARE = 0.01
"""Of the tiles so many may differ by more, and two in any case."""

WINDOW_WIDTH, WINDOW_HEIGHT = 6, 5
ASIDE, ALOFT = 3, 2
"""Pixels by which what is in a window may lie elsewhere."""

LOST = 42.0
"""Of 255: so much may the mean of a window differ from the nearest. Letters that are drawn
otherwise come to 39, a line of one word that is moved by 40 pixels of the page to 48.
"""

BESIDE, BELOW = 24, 12
"""Pixels of the page by which the words of a cell may begin elsewhere in their table and row."""

CELLS = """() => [...document.querySelectorAll("table")].flatMap(table =>
  [...table.querySelectorAll("th, td")].filter(one => one.checkVisibility()).map(cell => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    const [first = cell.getBoundingClientRect()] = words.getClientRects();
    const row = cell.parentElement.getBoundingClientRect();
    return [first.left - table.getBoundingClientRect().left, first.top - row.top].map(Math.round);
  }))"""
"""Where the words of each cell that is shown begin, asked of a page."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NOTE = b"cells\0"
_CHANNELS = {0: 1, 2: 3, 6: 4}


class Picture(NamedTuple):
    """Rows of greys, from 0 to 255, and what `CELLS` says of the page."""

    rows: tuple[bytes, ...]
    cells: list[list[int]]


def read_png(content: bytes) -> Picture:
    """Read a PNG of 8 bits a channel, or of 4 bits grey, without interlacing."""
    at, data, width, depth, colour = len(_SIGNATURE), b"", 0, 8, 0
    cells: list[list[int]] = []
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        elif kind == b"tEXt":
            cells = json.loads(body.removeprefix(_NOTE))
    channels = _CHANNELS[colour]
    stride = width * channels if depth == 8 else (width + 1) // 2
    lines = _unfiltered(zlib.decompress(data), stride, channels)
    return Picture(tuple(_greys(line, width, depth, channels) for line in lines), cells)


def _unfiltered(raw: bytes, stride: int, back: int) -> list[bytes]:
    before, lines = bytearray(stride), []
    for start in range(0, len(raw), stride + 1):
        how, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for at in range(stride if how else 0):
            left = line[at - back] if at >= back else 0
            corner = before[at - back] if at >= back else 0
            line[at] = (line[at] + _predicted(how, left, before[at], corner)) & 255
        before = line
        lines.append(bytes(line))
    return lines


def _predicted(how: int, left: int, above: int, corner: int) -> int:
    if how < 4:
        return (0, left, above, (left + above) // 2)[how]
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _greys(line: bytes, width: int, depth: int, channels: int) -> bytes:
    if depth == 4:
        return bytes(17 * (line[at // 2] >> (0 if at % 2 else 4) & 15) for at in range(width))
    if channels == 1:
        return line
    red, green, blue = (line[one::channels] for one in range(3))
    return bytes((3 * r + 6 * g + b) // 10 for r, g, b in zip(red, green, blue, strict=True))


def write_png(picture: Picture) -> bytes:
    """Write a picture as a PNG of 16 greys, with its cells as a note."""
    width = len(picture.rows[0])
    raw = b""
    for row in picture.rows:
        nibbles = [round(one / 17) for one in row] + [0]
        raw += b"\0" + bytes(nibbles[at] << 4 | nibbles[at + 1] for at in range(0, width, 2))
    header = struct.pack(">IIBBBBB", width, len(picture.rows), 4, 0, 0, 0, 0)
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (
            (b"IHDR", header),
            (b"tEXt", _NOTE + json.dumps(picture.cells, separators=(",", ":")).encode()),
            (b"IDAT", zlib.compress(raw, 9)),
            (b"IEND", b""),
        )
    )


def difference(golden: Picture, shown: Picture, *, short: bool = True) -> str:
    """Say how a picture differs from the golden one; empty if it does not, within the tolerance.

    Bands of tiles may drift, by a row a band; how far the whole may grow is bounded, too. Without
    `short`, short blocks are not looked for: where words break anywhere, each browser breaks them
    elsewhere.
    """
    old, new = golden.rows, shown.rows
    if len(old[0]) != len(new[0]) or abs(len(old) - len(new)) > 3 + len(old) / 100:
        return f"{len(new[0])} × {len(new)} in the place of {len(old[0])} × {len(old)}"
    return _moved(golden.cells, shown.cells) or _compared(_Sums(old), _Sums(new), short=short)


def _moved(old: Sequence[Sequence[int]], new: Sequence[Sequence[int]]) -> str:
    """Say which cell of a table begins elsewhere in it."""
    if len(old) != len(new):
        return f"{len(new)} cells in the place of {len(old)}"
    for at, ((left, top), (aside, below)) in enumerate(zip(old, new, strict=True)):
        if abs(left - aside) > BESIDE or abs(top - below) > BELOW:
            return f"the words of cell {at} begin at {aside}, {below}, not at {left}, {top}"
    return ""


class _Sums:
    """The sums of all greys above and to the left of each pixel."""

    def __init__(self, rows: tuple[bytes, ...]) -> None:
        self.height, self.width = len(rows), len(rows[0])
        self._sums = [[0] * (self.width + 1)]
        for row in rows:
            above = self._sums[-1]
            beside = accumulate(row, initial=0)
            self._sums.append([one + two for one, two in zip(above, beside, strict=True)])

    def mean(self, left: int, top: int, width: int, height: int) -> float:
        """Return the mean of a part; what lies beyond the right is left out."""
        right = min(left + width, self.width)
        above, below = self._sums[top], self._sums[top + height]
        return (below[right] - below[left] - above[right] + above[left]) / (height * (right - left))

    def tiles(self, top: int) -> list[float]:
        return [
            self.mean(left, top, TILE_WIDTH, TILE_HEIGHT)
            for left in range(0, self.width, TILE_WIDTH)
        ]


def _compared(old: _Sums, new: _Sums, *, short: bool) -> str:
    drift, count, differ = 0, 0, []
    for top in range(0, old.height - TILE_HEIGHT + 1, TILE_HEIGHT):
        tiles = old.tiles(top)
        found = [
            (sum(off), abs(step), drift + step, off)
            for step in (0, -1, 1)
            if 0 <= top + drift + step <= new.height - TILE_HEIGHT
            for off in [
                [abs(a - b) for a, b in zip(tiles, new.tiles(top + drift + step), strict=True)]
            ]
        ]
        count += len(tiles)
        if not found:
            differ += [(top, at) for at in range(len(tiles))]
            continue
        before = drift
        _, _, drift, best = min(found)
        differ += [(top, at) for at, one in enumerate(best) if one > TOLERANCE]
        drifts = range(min(before, drift) - ALOFT, max(before, drift) + ALOFT + 1)
        if short and (lost := _lost(old, new, top, drifts)):
            return f"what is at {lost} is not there"
    if len(differ) <= max(2, SHARE * count):
        return ""
    top, at = differ[0]
    where = _place(at * TILE_WIDTH, top)
    return f"{len(differ)} of {count} tiles differ, the first at {where}"


def _place(left: int, top: int) -> str:
    return f"{round(left / SCALE)}, {round(top / SCALE)}"


def _lost(old: _Sums, new: _Sums, top: int, drifts: range) -> str:
    """Say where in a band a window is in whose place, and near it, there is nothing alike."""
    for at in range(top, min(top + TILE_HEIGHT, old.height - WINDOW_HEIGHT + 1), 2):
        rows = [at + one for one in drifts if 0 <= at + one <= new.height - WINDOW_HEIGHT]
        for left in range(0, old.width - WINDOW_WIDTH + 1, 3):
            mean = old.mean(left, at, WINDOW_WIDTH, WINDOW_HEIGHT)
            near = range(max(0, left - ASIDE), min(left + ASIDE, old.width - WINDOW_WIDTH) + 1)
            if not any(
                abs(mean - new.mean(aside, row, WINDOW_WIDTH, WINDOW_HEIGHT)) <= LOST
                for row in rows
                for aside in near
            ):
                return _place(left, at)
    return ""
