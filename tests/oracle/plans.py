"""What `plan --json` says of pairs of revisions: those of stored runs, and others."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from gateval.domain.base import digest as sha256_of
from gateval.domain.manifests import gate_config
from gateval.domain.manifests.gate_config import Policy, policy_digest
from tests.oracle.cases import CASES, PLANS, Case
from tests.oracle.side import digest
from tests.oracle.sides import Json, Side, differences
from tests.oracle.stored import FOLDER, HERE, KEPT, place_for

GOLDEN = HERE / "goldens" / "plans.json"
EVERY = (*PLANS, *CASES)
QUICK = 10
_SHOWN = 6


def compare(sides: Sequence[Side], cases: Sequence[Case]) -> list[str]:
    """Return where two sides plan otherwise. What is new and empty is no difference."""
    found = []
    with ThreadPoolExecutor(len(sides)) as pool:
        for case in cases:
            with place_for() as place:
                path = _made(sides[-1], case, place)
                old, new = pool.map(lambda side, at=path, one=case: _plan(side, one, at), sides)
            apart = list(islice(differences(old, _known(old, _as_before(new))), _SHOWN))
            found += [f"plan {case.name}: {one}" for one in apart]
    return found


def check(sides: Sequence[Side], cases: Sequence[Case]) -> list[str]:
    """Return which parts of plans are not those that were kept."""
    kept = json.loads(GOLDEN.read_text())
    found = []
    for name, told in _told(sides, cases).items():
        apart = [key for key in told if kept.get(name, {}).get(key) != told[key]]
        found += [f"plan {name}: {', '.join(apart)}"] if apart else []
    return found


def keep(sides: Sequence[Side]) -> None:
    """Write what is planned, by a digest of each part."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(told)}" for name, told in _told(sides, EVERY).items()
    ]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _told(sides: Sequence[Side], cases: Sequence[Case]) -> dict[str, dict[str, str]]:
    def told(number: int) -> list[tuple[str, Json]]:
        return [(one.name, _planned(sides[number], one)) for one in cases[number :: len(sides)]]

    with ThreadPoolExecutor(len(sides)) as pool:
        every = dict(one for each in pool.map(told, range(len(sides))) for one in each)
    return {
        one.name: {key: digest(part)[:10] for key, part in every[one.name].items() if part}
        for one in cases
    }


def _planned(side: Side, case: Case) -> Json:
    with place_for() as place:
        return _plan(side, case, _made(side, case, place))


def _made(side: Side, case: Case, place: Path) -> Path:
    stored = KEPT / f"{case.name}.tar.xz"
    if stored.exists():
        with tarfile.open(stored) as archive:
            archive.extractall(place, filter="data")
    else:
        case.make(place / FOLDER, side)
    return place / FOLDER


def _plan(side: Side, case: Case, path: Path) -> Json:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(path.parent), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **case.env}
    words = ["plan", "--base", "main", "--head", "change", "--json"]
    done = side.one({"command": words, "folder": str(path), "env": env})
    said = done["err"].replace(str(path.parent), "<place>")
    plan: Json = json.loads(done["out"]) if done["out"].startswith("{") else {"out": done["out"]}
    return {**plan, "code": done["code"], "said": said}


def _as_before(plan: Json) -> Json:
    """Return a plan, and the digest of its policy, as they are without what is new in a policy."""
    rules = plan.get("policy", {})
    if not rules or plan.get("policy_digest") != policy_digest(Policy.model_validate(rules)):
        return plan
    known = {key: one for key, one in rules.items() if key not in _NEW}
    return {**plan, "policy": known, "policy_digest": policy_digest_of(known)}


_NEW = {"sealed_bits", "notify", "rates", "max_outage"}


def policy_digest_of(rules: Json) -> str:
    """Return the digest of a policy as it is told, whatever keys it has."""
    return sha256_of(gate_config._unordered(rules))


def _known(old: Any, new: Any) -> Any:
    """Return the new value without keys that the old one lacks, where they are empty."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: _known(old.get(key), one) for key, one in new.items() if key in old or one}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_known(one, other) for one, other in zip(old, new, strict=True)]
    return new
