"""Names and addresses of machines."""

from __future__ import annotations

import ipaddress


def is_address(name: str) -> bool:
    """Whether this is a plain address: nobody can point one elsewhere, as he could a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Whether only this machine is reached by it."""
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)
