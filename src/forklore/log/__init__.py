"""The operation log."""
