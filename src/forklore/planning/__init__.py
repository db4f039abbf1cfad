"""Pure functions that turn what was read into a plan."""
