"""Who may talk to the service, and how to reach it: keys, login links, and which service runs."""
