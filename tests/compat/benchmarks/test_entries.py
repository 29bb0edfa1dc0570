"""Two entry points."""

from __future__ import annotations

from pathlib import Path

from tests.compat.rows import states
from tests.e2e.test_published_benchmarks import PUBLISHED, lock, solver, told
from tests.helpers.foreign import elsewhere


@states(
    "A public entry, by which external developers run a published benchmark from their own "
    "organisation, on their own agent",
    differs="`from` in a Benchmark names the file of the other repository, pinned to a commit by "
    "`gateval lock`; what it gives is their own claim until a run of the owners",
)
@states(
    "A solver's key only creates such runs, and a run's token does the rest",
    differs="nobody gets a key: files are fetched without credentials, from hosts that the policy "
    "names, and the agent's models are paid by who runs it",
)
@states(
    "404 for benchmarks that one may not see",
    differs="a sealed one is refused, with whom to ask; one that git cannot fetch is an error",
)
def test_a_published_benchmark_is_run_elsewhere(tmp_path: Path) -> None:
    files = {"bench/desk.yaml": PUBLISHED, "bench/held.yaml.age": "sealed"}
    with elsewhere(tmp_path, files) as there:
        shop = solver(there, tmp_path / "shop")
        lock(shop, there)
        done = told(shop, there, "run", "their-desk")
        assert done.returncode == 0, done.stderr
        assert "their-desk@2" in done.stdout
        closed = solver(there, tmp_path / "closed", "bench/held.yaml.age")
        assert "Open a pull request to their repository" in told(closed, there, "lock").stderr
