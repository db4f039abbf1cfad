"""A sample story, and the demonstration that its forks share nothing."""
