"""What reports say of scores: by axis, of runs of benchmarks, of sets of experiments."""
