"""The one adapter that runs git. It reads a repository; of its files it changes nothing."""

from gateval.adapters.git.discovery import open_repository
from gateval.adapters.git.remote import Remote
from gateval.adapters.git.repository import GitRepository

__all__ = ["GitRepository", "Remote", "open_repository"]
