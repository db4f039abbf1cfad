"""One operation on the disk: staged, journalled, published, and finished or taken back after a crash."""
