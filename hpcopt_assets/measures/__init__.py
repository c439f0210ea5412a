"""Measures: every formula of the field, once. The second floor.

In:  arrays (seconds, processors) and constants.   Out: numbers and arrays.
Not here: frames from files, limits, verdicts.
"""
