"""Published logs kept as parquet, read in pieces: PM100 (Marconi100) and F-DATA (Fugaku)."""
