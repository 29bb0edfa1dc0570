"""How alike two texts are, in [0, 1], by three measures that people know.

Levenshtein and the longest common subsequence are rapidfuzz's. BLEU is its published formula: the
libraries that have it bring 90 MB along (docs/adr/0027-own-checks.md).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+|[^\w\s]")
_ROUGE_WORD = re.compile(r"\w+")
_LONGEST = 4


def levenshtein(text: str, reference: str) -> float:
    """1 - distance / length of the longer text; insertions, deletions and substitutions cost 1."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(text, reference))


def rouge_l(text: str, reference: str) -> float:
    """ROUGE-L (Lin 2004): the F1 of the longest common subsequence of words, in small letters."""
    from rapidfuzz.distance import LCSseq

    ours, theirs = (_ROUGE_WORD.findall(one.lower()) for one in (text, reference))
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * float(LCSseq.similarity(ours, theirs)) / (len(ours) + len(theirs))


def bleu(text: str, reference: str) -> float:
    """BLEU (Papineni et al. 2002) of one sentence against one reference.

    The geometric mean of the precisions of 1- to 4-grams, times the brevity penalty. A precision of
    0 is smoothed to 1 / (2^k * n-grams) for the k-th such n (NIST's mteval, Chen & Cherry 2014);
    lengths of n-gram that the text is too short for are left out.
    """
    ours, theirs = _WORD.findall(text), _WORD.findall(reference)
    if not ours or not theirs:
        return float(ours == theirs)
    logs, zeros = 0.0, 0
    orders = range(1, min(_LONGEST, len(ours)) + 1)
    for order in orders:
        mine, known = _grams(ours, order), _grams(theirs, order)
        common, total = (mine & known).total(), mine.total()
        if order == 1 and not common:
            return 0.0
        if not common:
            zeros += 1
        logs += math.log((common or 0.5**zeros) / total)
    brevity = min(0.0, 1 - len(theirs) / len(ours))
    return math.exp(logs / len(orders) + brevity)


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))
