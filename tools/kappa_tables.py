"""`python -m tools.kappa_tables`: random tables with what two packages say of them, for a test.

They are scikit-learn's kappa and, with observations added, statsmodels' and its standard error.

They take 400 MB and 20 s to install, so the test compares with what they said once. Run this where
they are installed, to have them say so again.
"""

from __future__ import annotations

import random
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "tests/data/kappa"
TABLES = 1_000
ADDED = 1.1
"""What the interval adds to each cell."""


def main() -> None:
    """Write the files; equal versions, equal files."""
    import sklearn
    import statsmodels
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    cells = "true pass, false pass, false fail, true fail"
    values = [f"# scikit-learn {sklearn.__version__}: {cells}"]
    errors = [f"# statsmodels {statsmodels.__version__}, {ADDED} added: {cells}, kappa, its error"]
    for table in _tables():
        a, b, c, d = table
        judge, person = [1] * (a + b) + [0] * (c + d), [1] * a + [0] * b + [1] * c + [0] * d
        said = cohens_kappa([[a + ADDED, b + ADDED], [c + ADDED, d + ADDED]])
        shown = ",".join(map(str, table))
        values.append(f"{shown},{float(cohen_kappa_score(judge, person))!r}")
        errors.append(f"{shown},{float(said.kappa)!r},{float(said.std_kappa)!r}")
    (FOLDER / "scikit-learn.csv").write_text("\n".join(values) + "\n")
    (FOLDER / "statsmodels.csv").write_text("\n".join(errors) + "\n")


def _tables() -> list[list[int]]:
    """Random tables with a pass and a fail at least: of others, scikit-learn says NaN."""
    draw = random.Random(16)  # noqa: S311 - tables, not secrets
    found: list[list[int]] = []
    while len(found) < TABLES:
        most = draw.choice((3, 10, 40, 1000))
        a, b, c, d = table = [draw.randrange(most) for _ in range(4)]
        if a + b + c and b + c + d:
            found.append(table)
    return found


if __name__ == "__main__":
    main()
