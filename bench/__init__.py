"""Times cafe beside what people would use instead: `python -m bench --help`, and README.md says how to read the result."""
