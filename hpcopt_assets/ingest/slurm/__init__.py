"""Slurm accounting as sacct prints it: lines of fields, of which several tell of one job."""
