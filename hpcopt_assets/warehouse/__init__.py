"""Warehouse: the DuckDB catalog over every table of the store.

In:  the store folder and the contracts.   Out: a DuckDB file of commented views; query results.
Not here: copies of data: views read the parquet in place.
"""
