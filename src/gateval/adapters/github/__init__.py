"""The one adapter that speaks to GitHub's REST API, through PyGithub's requester.

The token lives in here alone: nothing of this package shows it, and no request goes to any host
but that of the API's base URL. PyGithub is imported with the first request, not with this package.
"""

from gateval.adapters.github.access import WRITES, GitHubAccess, Needs
from gateval.adapters.github.forge import GitHubForge
from gateval.adapters.github.waiting import RetryLimits

__all__ = ["WRITES", "GitHubAccess", "GitHubForge", "Needs", "RetryLimits"]
