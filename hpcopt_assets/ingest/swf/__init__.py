"""Standard Workload Format: lines of 18 numbers below a header of comments."""
