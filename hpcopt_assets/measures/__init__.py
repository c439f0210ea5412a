"""Measures: every formula of the field, once. The second floor.

In:  arrays (seconds, processors), schedules, constants of configs/objective.yaml.
Out: numbers, step functions, and the one table made of nothing but numbers (replay_measures).
Not here: frames from files, limits, verdicts.
"""
