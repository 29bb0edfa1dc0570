"""The kind `Experiment`: a golden set, a task and scorers, read into an Eval and its fixtures."""
