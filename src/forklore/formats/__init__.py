"""Bytes to values and back, without losing a byte."""
