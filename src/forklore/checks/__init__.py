"""Requirements before a fork."""
