"""What was gathered before anything is checked or planned: one timeline, and the workspace around it.

These are values: ``disk.gather`` fills them in, one pass for a use case, and every rule asks them and nothing else.
"""
