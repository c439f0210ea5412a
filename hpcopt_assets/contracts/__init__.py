"""Contracts: what everything means. The floor under every room.

In:  nothing; this package imports no other part of the project.
Out: columns and tables, closed vocabularies, config models, verdicts, typed errors, protocols.
Not here: files, Dagster, numba, formulas (measures/), or any decision's value (configs/*.yaml).
"""
