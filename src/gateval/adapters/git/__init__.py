"""The one adapter that runs git. It reads a repository; of its files it changes nothing."""
