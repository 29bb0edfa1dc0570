"""Gateval's own manifests, gate config and scripted models."""
