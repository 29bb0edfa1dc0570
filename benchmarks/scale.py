"""How large the measured things are: at full size, and just large enough to see it run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scale:
    """The sizes. `packages` of `modules` each are installed, and `checked` fixtures then run.
    `tasks` have a playground each.

    `changed_agents` are those that one change touches.

    `runs` holds pairs of fixtures and `parallel`; `latency` is in seconds.

    `large_runs` are what kind of fixture, how many, and the repetitions of each.

    `killed` are the fixtures of a run and its `parallel` that is killed `kills` times.

    `spread` are the trials of a run, its shards, what each runs side by side, and how many are
    killed.

    `rounds` samples are taken of short processes, `entry_rounds` of jobs of the action,
    `run_rounds` of whole runs. `cache` is where generated repositories are kept.
    """

    cache: Path
    files: int = 10_000
    agents: int = 200
    fixtures: int = 2_000
    changed_agents: int = 2_000
    cases: int = 10_000
    kept_runs: int = 1_000
    packages: int = 60
    modules: int = 40
    checked: int = 10
    tasks: int = 200
    rounds: int = 9
    entry_rounds: int = 5
    runs: tuple[tuple[int, int], ...] = ((200, 20), (1_000, 100))
    run_rounds: int = 3
    large_runs: tuple[tuple[str, int, int], ...] = (
        ("files", 1_000, 15),
        ("cases", 15_000, 1),
        ("files", 15_000, 1),
        ("files", 1_000, 50),
        ("cases", 50_000, 1),
    )
    killed: tuple[int, int] = (500, 50)
    kills: int = 20
    spread: tuple[int, int, int, int] = (50_000, 20, 50, 5)
    latency: float = 0.2
    gateway_calls: int = 4_000
    gateway_streams: int = 100
    stream_chunks: int = 2_000
    simulated_runs: int = 4_000


def tiny(cache: Path) -> Scale:
    """Sizes whose figures mean nothing, but which need seconds only."""
    return Scale(
        cache,
        files=60,
        agents=4,
        fixtures=8,
        changed_agents=4,
        cases=20,
        kept_runs=3,
        packages=2,
        modules=2,
        checked=2,
        tasks=3,
        rounds=1,
        entry_rounds=1,
        runs=((4, 2),),
        run_rounds=1,
        large_runs=(("files", 3, 2), ("cases", 4, 1)),
        killed=(6, 2),
        kills=2,
        spread=(40, 2, 2, 1),
        latency=0.01,
        gateway_calls=40,
        gateway_streams=4,
        stream_chunks=20,
        simulated_runs=5,
    )
