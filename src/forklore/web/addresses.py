"""Names and addresses of machines."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlencode


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


def client_at(address: str) -> str:
    """Return which client asks from an address; one that has many of them to choose from is still one client."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return "this machine" if found.is_loopback else str(ipaddress.ip_network((found, 64), strict=False))
        found = found.ipv4_mapped
    return "this machine" if found.is_loopback else str(found)


def login_path(user: str, code: str) -> str:
    """Return the path of a login link, which names its user."""
    return f"/login?{urlencode({'user': user, 'code': code})}"
