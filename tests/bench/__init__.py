"""Benchmarks behind `bin/bench`: each is a ratio against a floor that was measured in the same run, never a bare time."""
