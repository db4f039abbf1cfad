"""Having ``forklore serve`` run whenever the computer does.

``start`` says what is to be started; ``systemd``, ``launchd``, ``windows`` and ``termux`` write it down for one system
each, and do nothing else. ``systems`` asks the system to heed it, ``machine`` finds out which system that is, and
``service`` is the command.
"""
