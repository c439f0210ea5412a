"""Assets: Dagster only. One file per room; bodies are a few lines over pure functions.

In:  resources and upstream tables.   Out: tables with metadata.
Not here: any computation.
"""
