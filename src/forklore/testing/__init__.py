"""Story builders and strategies for tests and benchmarks."""
