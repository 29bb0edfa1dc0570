"""Test cases of other tools, made into fixtures of ours once, by `gateval import`.

What carries over is written; the rest is told, each with its reason; nothing is guessed.
"""
