"""Exits with 0 when the app at HOST:PORT is ready: `python health.py 127.0.0.1:7100`.

A container's health check runs every few seconds in each container, so it is a bare socket: HTTP clients take
longer to import than this takes to run.
"""

import socket
import sys

_TIMEOUT_S = 6.0  # readiness gives its checks five


def main(address: str) -> int:
    """0: ready; 1: not, with the status line or the reason on standard error."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), _TIMEOUT_S) as connection:
            connection.sendall(f"GET /health/ready HTTP/1.0\r\nHost: {address}\r\n\r\n".encode())
            status = connection.makefile("rb").readline().decode("latin-1").strip()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{address}: {error}\n")
        return 1
    if status.split(" ")[1:2] == ["200"]:
        return 0
    sys.stderr.write(f"{address}: {status or 'no answer'}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
