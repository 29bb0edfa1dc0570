"""The one adapter that runs git. It reads a repository; of its files it changes nothing."""

from gateval.adapters.git.discovery import open_repository
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.git.server.remote import Remote

__all__ = ["GitRepository", "Remote", "open_repository"]
