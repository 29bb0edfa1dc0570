"""`python -m tools.jury_tables`: random tables with what two packages say of them, for a test.

`krippendorff` and `statsmodels` are no dependencies of the tests: they bring numpy, scipy and
pandas, 400 MB. Run this where they are installed, to have them say so again.
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "tests/data/jury"
TABLES = 300


def main() -> None:
    """Write the files; equal versions, equal files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw = random.Random(32)  # noqa: S311 - tables, not secrets
    _write("krippendorff", _agreements(draw))
    _write("statsmodels", _rates(draw))


def _write(package: str, rows: list[object]) -> None:
    said = {"made with": f"{package} {version(package)}", "rows": rows}
    text = json.dumps(said, separators=(",", ":")).replace("],[", "],\n[").replace("},{", "},\n{")
    (FOLDER / f"{package}.json").write_text(text + "\n")


def _agreements(draw: random.Random) -> list[object]:
    """Units of 2 to 5 raters with gaps, and alpha on names and on a scale."""
    import krippendorff
    import numpy as np

    rows: list[object] = []
    while len(rows) < TABLES:
        raters, grain = draw.randint(2, 5), draw.choice((1, 2, 4, 10, 100))
        gap, noise = draw.choice((0.0, 0.1, 0.4)), draw.choice((0.0, 0.2, 1.0))
        units: list[list[float | None]] = []
        for _ in range(draw.randint(2, 40)):
            truth = draw.random()
            near = [
                min(1.0, max(0.0, truth + noise * (draw.random() - 0.5))) for _ in range(raters)
            ]
            said = [round(one * grain) / grain for one in near]
            units.append([None if draw.random() < gap else one for one in said])
        data = np.array([[np.nan if x is None else x for x in unit] for unit in units]).T
        try:
            found = [
                float(krippendorff.alpha(reliability_data=data, level_of_measurement=level))
                for level in ("nominal", "interval")
            ]
        except ValueError:  # all values alike, or none that could be compared
            continue
        if all(one == one for one in found):
            rows.append({"units": units, "nominal": found[0], "interval": found[1]})
    return rows


def _rates(draw: random.Random) -> list[object]:
    """Counts with the limits of Clopper and Pearson, and McNemar's exact p-value."""
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.proportion import proportion_confint

    rows: list[object] = []
    for _ in range(TABLES):
        total = draw.choice((1, 5, 20, 50, 200, 1000))
        count = draw.choice((0, total, draw.randint(0, total), draw.randint(0, total)))
        low, high = proportion_confint(count, total, alpha=0.05, method="beta")
        one, other = draw.randint(0, 30), draw.randint(0, 30)
        p = mcnemar([[0, one], [other, 0]], exact=True).pvalue
        rows.append([count, total, float(low), float(high), one, other, float(p)])
    return rows


if __name__ == "__main__":
    main()
