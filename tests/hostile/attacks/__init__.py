"""The attacks, one file per kind. More of them are a line in one of the files."""

from __future__ import annotations

from tests.hostile.attacks.answering import ANSWERING
from tests.hostile.attacks.changing import CHANGING
from tests.hostile.attacks.exhausting import EXHAUSTING
from tests.hostile.attacks.reading import READING
from tests.hostile.attacks.staying import STAYING

ATTACKS = (*READING, *CHANGING, *EXHAUSTING, *STAYING, *ANSWERING)
