"""The one adapter that speaks to GitHub's REST API, through PyGithub's requester.

The token lives in here alone: nothing of this package shows it, and no request goes to any host
but that of the API's base URL. PyGithub is imported with the first request, not with this package.
"""
