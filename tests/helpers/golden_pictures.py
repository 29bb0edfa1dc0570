"""Pictures of pages as goldens: a quarter of the size, 16 greys, compared tile by tile.

Another version of a browser draws letters a little differently, and lines drift by a pixel. A block
that has moved, was cut or is gone changes whole tiles.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

SCALE = 0.25
"""What a page is drawn at (`device_scale_factor`)."""

TILE_WIDTH, TILE_HEIGHT = 10, 12
TOLERANCE = 16.0
"""Of 255: so much may the mean of a tile differ."""

SHARE = 0.01
"""Of the tiles so many may differ by more, and two in any case."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 6: 4}


class Picture(NamedTuple):
    """Rows of greys, from 0 to 255."""

    rows: tuple[bytes, ...]


def read_png(content: bytes) -> Picture:
    """Read a PNG of 8 bits a channel, or of 4 bits grey, without interlacing."""
    at, data, width, depth, colour = len(_SIGNATURE), b"", 0, 8, 0
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
    channels = _CHANNELS[colour]
    stride = width * channels if depth == 8 else (width + 1) // 2
    lines = _unfiltered(zlib.decompress(data), stride, channels)
    return Picture(tuple(_greys(line, width, depth, channels) for line in lines))


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
    """Write a picture as a PNG of 16 greys."""
    width = len(picture.rows[0])
    raw = b""
    for row in picture.rows:
        nibbles = [round(one / 17) for one in row] + [0]
        raw += b"\0" + bytes(nibbles[at] << 4 | nibbles[at + 1] for at in range(0, width, 2))
    header = struct.pack(">IIBBBBB", width, len(picture.rows), 4, 0, 0, 0, 0)
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (
            (b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""),
        )
    )  # fmt: skip


def difference(golden: Picture, shown: Picture) -> str:
    """Say how a picture differs from the golden one; empty if it does not, within the tolerance.

    Bands of tiles may drift, by a row a band; how far the whole may grow is bounded, too.
    """
    old, new = golden.rows, shown.rows
    if len(old[0]) != len(new[0]) or abs(len(old) - len(new)) > 3 + len(old) / 100:
        return f"{len(new[0])} × {len(new)} in the place of {len(old[0])} × {len(old)}"
    drift, count, differ = 0, 0, []
    for top in range(0, len(old) - TILE_HEIGHT + 1, TILE_HEIGHT):
        tiles = _tiles(old, top)
        found = [
            (sum(off), abs(step), drift + step, off)
            for step in (0, -1, 1)
            if 0 <= top + drift + step <= len(new) - TILE_HEIGHT
            for off in [
                [abs(a - b) for a, b in zip(tiles, _tiles(new, top + drift + step), strict=True)]
            ]
        ]
        count += len(tiles)
        if not found:
            differ += [(top, at) for at in range(len(tiles))]
            continue
        _, _, drift, best = min(found)
        differ += [(top, at) for at, one in enumerate(best) if one > TOLERANCE]
    if len(differ) <= max(2, SHARE * count):
        return ""
    top, at = differ[0]
    where = f"{round(at * TILE_WIDTH / SCALE)}, {round(top / SCALE)}"
    return f"{len(differ)} of {count} tiles differ, the first at {where}"


def _tiles(rows: tuple[bytes, ...], top: int) -> list[float]:
    band, width = rows[top : top + TILE_HEIGHT], len(rows[0])
    return [
        sum(sum(row[left : left + TILE_WIDTH]) for row in band)
        / (TILE_HEIGHT * min(TILE_WIDTH, width - left))
        for left in range(0, width, TILE_WIDTH)
    ]
