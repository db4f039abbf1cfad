"""The application: one object with one method per command; the whole product without its faces."""
