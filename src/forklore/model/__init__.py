"""Values of the domain, and nothing that touches the disk."""
