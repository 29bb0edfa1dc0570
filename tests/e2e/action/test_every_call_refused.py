"""Each call to GitHub's API is refused once, as no second try in the run mends: the verdict stands.

One call a run. What is refused is told, and the step after the job completes what is left open.
"""

from __future__ import annotations

import pytest

from gateval.app.action.gate import run_action
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.tiers import some_always
from tests.servers.github.http import Reply

WORDS = {
    401: "Bad credentials",
    403: "Resource not accessible by integration",
    404: "Not Found",
    422: "Validation Failed",
}
AT_LEAST, AT_MOST = 8, 14
"""How many calls a plain run makes."""


@pytest.mark.parametrize("status", some_always(WORDS, 4))
def test_every_call_is_refused_once(shop: GitHubShop, status: int) -> None:
    nth = 0
    for nth in range(1, AT_MOST + 1):
        pull = shop.open_pull(f"{WORSE}Take {nth}.\n", f"change-{nth}")
        job = shop.on_pull(pull)
        refused = Reply(status, {"message": WORDS[status]})
        fault = shop.server.faults.plant("*", "/repos/*", reply=refused, nth=nth)
        code = run_action(job.environ({}, {}))
        if fault.seen < nth:
            shop.server.faults.forget(fault)
            break
        assert code == 1 or (code == 3 and nth == 1), "only without the pull request is no verdict"
        job.run_post()
        told = {"failure"} if code == 1 else {"action_required"}
        assert set(shop.conclusions(pull.head_sha)) == told, nth
        assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) <= 1
    assert AT_LEAST < nth < AT_MOST
