"""Votes that do not fit in memory: on disk, or on a cluster."""
