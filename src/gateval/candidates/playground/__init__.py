"""Playgrounds: made for one trial, looked at when its candidate is gone, removed after it."""
