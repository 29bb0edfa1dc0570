"""`python -m tools.watching_tables`: what statsmodels and SciPy say of preferences and canaries.

They take hundreds of megabytes to install, so tests compare with what they said once. Run this
where they are installed, to have them say so again.
"""

from __future__ import annotations

import random
from pathlib import Path

DATA = Path(__file__).parent.parent / "tests/data/watching"


def main() -> None:
    """Write the files; equal versions of both, equal files."""
    import scipy
    import statsmodels

    heading = f"# statsmodels {statsmodels.__version__}, scipy {scipy.__version__}: "
    DATA.mkdir(exist_ok=True)
    for name, columns, rows in (
        ("sign", "won, lost, tied, p of binom_test(smaller)", _sign_tests()),
        ("flips", "p of permutation_test(samples, less), sums", _flips()),
        ("predicted", "right, asked, canaries, wrong, sf of betabinom", _predicted()),
    ):
        lines = [",".join(repr(one) for one in row) for row in rows]
        (DATA / f"{name}.csv").write_text("\n".join([heading + columns, *lines]) + "\n")


def _sign_tests() -> list[tuple[float, ...]]:
    from statsmodels.stats.proportion import binom_test

    draw, rows = random.Random(32), list[tuple[float, ...]]()  # noqa: S311 - tables, not secrets
    while len(rows) < 500:
        most = draw.choice((3, 10, 40, 160))
        won, lost, tied = (draw.randrange(most) for _ in range(3))
        if won + lost:
            p_value = binom_test(won, won + lost, 0.5, alternative="smaller")
            rows.append((won, lost, tied, float(p_value)))
    return rows


def _flips() -> list[tuple[float, ...]]:
    import numpy as np
    from scipy.stats import permutation_test

    draw, rows = random.Random(5), list[tuple[float, ...]]()  # noqa: S311
    for _ in range(100):
        sums = [draw.randint(-4, 4) for _ in range(draw.randint(2, 12))]
        kinds = {"permutation_type": "samples", "alternative": "less", "n_resamples": np.inf}
        found = permutation_test((np.array(sums),), np.sum, **kinds)
        rows.append((float(found.pvalue), *sums))
    return rows


def _predicted() -> list[tuple[float, ...]]:
    from scipy.stats import betabinom

    draw, rows = random.Random(7), list[tuple[float, ...]]()  # noqa: S311
    for _ in range(300):
        asked = draw.choice((5, 10, 20, 50, 200))
        right = asked - min(asked, draw.choice((0, 0, 1, 2, 5, 20)))
        canaries = draw.choice((3, 10, 30))
        wrong = draw.randint(1, canaries)
        tail = betabinom.sf(wrong - 1, canaries, asked - right + 0.5, right + 0.5)
        rows.append((right, asked, canaries, wrong, float(tail)))
    return rows


if __name__ == "__main__":
    main()
