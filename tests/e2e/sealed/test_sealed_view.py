"""What is sealed is in no page that is served or exported, even beside its key and its evidence."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.sealed import KEY, judges, leaks, sealed_shop
from tests.helpers.viewing import viewing


def test_no_page_and_no_label_tells_what_is_sealed(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    with provider(judges) as (_, environ):
        done = gateval(shop, "check", "--base", "main", **environ, **KEY)
        assert done.returncode == 1, done.stdout + done.stderr
    (run,) = [one.name for one in (shop.path / ".gateval/results").iterdir() if one.is_dir()]
    assert (shop.path / ".gateval/results" / run / "results.v1.json.age").exists()
    pages = (
        "index.html",
        "heat.html",
        f"runs/{run}.html",
        f"compare/{run}/HEAD",
        "compare/main/HEAD",
    )
    label = {
        "run": run, "fixture": "held-out/greets", "repetition": 1, "score": 1,
        "reason": "judgeWrong", "note": "kind",
    }  # fmt: skip
    with viewing(shop, **KEY) as viewed:
        told = [viewed.ask("/page", {"page": page}).text for page in pages]
        told += [viewed.ask("/label", label).text, viewed.ask("/runs", {}).text]
    assert "No judge said anything" in told[-2]
    assert "held-out" in told[0]
    for more in ((), ("--traces",)):
        assert (
            gateval(shop, "view", "--export", f"../site{len(more)}", *more, **KEY).returncode == 0
        )
    site = [tmp_path / "site0", tmp_path / "site1"]
    told += [one.read_text() for place in site for one in place.rglob("*") if one.is_file()]
    assert leaks(site, told) == []
    assert not any("greets" in one for one in told if "No judge said" not in one)
    assert leaks([shop.path], [json.dumps(told)]) == [], "nor is anything written in the clear"
