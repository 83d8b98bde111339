"""Ports for the processes that tests and benchmarks start."""

import os
import socket
from itertools import chain, cycle, islice

# Below the ports that the kernel lends to outgoing connections: one of those may be taken
# by any connection between the moment it is found free and the moment a server listens on it.
_FIRST, _END = 10_240, 32_768
_own = _FIRST + os.getpid() * 110 % (_END - _FIRST)
_ports = cycle(chain(range(_own, _END), range(_FIRST, _own)))


def free_ports(count: int) -> list[int]:
    """Return neighbouring free loopback ports.

    Each call goes on where the last one ended, and processes that run side by side begin at different places:
    no two tests find the same port free. Raises `RuntimeError` where there are none.
    """
    ports: list[int] = []
    for port in islice(_ports, _END - _FIRST):
        if not _is_free(port):
            ports.clear()
            continue
        if ports and port != ports[-1] + 1:
            ports.clear()
        ports.append(port)
        if len(ports) == count:
            return ports
    raise RuntimeError(f"There are no {count} neighbouring ports free on 127.0.0.1.")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
