"""What goes on, for whoever looks for a fault: one subsystem of Python's logging, silent unless it is asked for."""

from __future__ import annotations

SUBSYSTEM = "forklore.checkpoint"
"""Its name: ``logging.getLogger(SUBSYSTEM)``; the command line and the service write it where FORKLORE_LOG is set."""


def tell(text: str, *arguments: object) -> None:
    """Tell that something was done, or was refused."""
    import logging  # noqa: PLC0415  # heavy, and whoever only looks has nothing to tell

    logging.getLogger(SUBSYSTEM).info(text, *arguments)
