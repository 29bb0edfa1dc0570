"""`python -m tools.kappa_tables`: 1,000 random tables with scikit-learn's kappa, for a test.

scikit-learn takes 240 MB and 20 s to install, so the test compares with what it said once. Run this
where it is installed, to have it say so again.
"""

from __future__ import annotations

import random
from pathlib import Path

FILE = Path(__file__).parent.parent / "tests/data/kappa/scikit-learn.csv"
TABLES = 1_000


def main() -> None:
    """Write the file; equal versions of scikit-learn, equal files."""
    import sklearn
    from sklearn.metrics import cohen_kappa_score

    draw = random.Random(16)  # noqa: S311 - tables, not secrets
    lines = [f"# scikit-learn {sklearn.__version__}: true pass, false pass, false fail, true fail"]
    while len(lines) <= TABLES:
        most = draw.choice((3, 10, 40, 1000))
        cells = [draw.randrange(most) for _ in range(4)]
        judge = [1] * (cells[0] + cells[1]) + [0] * (cells[2] + cells[3])
        person = [1] * cells[0] + [0] * cells[1] + [1] * cells[2] + [0] * cells[3]
        if len({*judge, *person}) == 2:  # elsewhere it says NaN
            lines.append(f"{','.join(map(str, cells))},{cohen_kappa_score(judge, person)!r}")
    FILE.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")


if __name__ == "__main__":
    main()
