"""Objective: the tasks of the present."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row

ADAPTER = Adapter("Objective", "1.19", (Row(METADATA, "objective"),))
