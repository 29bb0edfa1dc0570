"""Mutants of the rules that decide, and which of them the unit tests kill.

They are drawn by a seed, function by function, from five rooms of `gateval.domain`. The share that
is killed is held against a stored baseline, whose functions are found again where they moved.

mutmut 3 passes over decorated functions (here one in nine: properties, caches, validators) and
spends most mutants on texts for people; cosmic-ray and mutatest start pytest anew for each mutant;
pytest-gremlins knows lines, not functions, and draws no sample. So here pytest collects once, each
mutant is a fork of that process, and in it the function's code object is exchanged: decorators,
and whoever imported the function by name, see the mutant too.
"""
