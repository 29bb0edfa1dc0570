"""The other texts on GitHub: check run, annotations, job summary, outputs."""
