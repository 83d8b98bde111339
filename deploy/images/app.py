"""Starts the app of an image, or checks that it is ready: `python app.py [ready]`.

The check runs every few seconds in each container, so it uses a bare socket: HTTP clients take longer to
import than it takes to run.
"""

import os
import socket
import sys
from collections.abc import Sequence

PORTS = {
    "gateway": 7100,
    "domain-router": 7101,
    "cropper": 7102,
    "image-search": 7103,
    "text-search": 7104,
    "reranker": 7105,
    "verifier": 7106,
    "ocr": 7107,
    "reader": 7108,
}
TOOLS = {"corpus": "clients", "corpus-ray": "clients", "weights": "deploy.weights"}
_TIMEOUT_S = 6.0  # readiness gives its checks five


def main(words: Sequence[str]) -> int:
    """Replace this process by the app, or return 0 if the running app is ready and 1 if not."""
    name = os.environ["LOREGLASS_APP"].removesuffix("-cuda")
    if name in TOOLS:
        return _become(TOOLS[name], words)
    folder = name.replace("-", "_")
    prefix = f"LOREGLASS_{folder.upper()}_"
    if list(words) == ["ready"]:
        return ready("127.0.0.1", int(os.environ.get(f"{prefix}PORT", PORTS[name])))
    os.environ.setdefault(f"{prefix}HOST", "0.0.0.0")
    if name.endswith("-search"):
        os.environ.setdefault(f"{prefix}DATA_DIR", "/var/lib/loreglass")
    return _become(name if name == "gateway" else f"services.{folder}", words)


def _become(module: str, words: Sequence[str]) -> int:
    os.execv(sys.executable, [sys.executable, "-m", module, *words])


def ready(host: str, port: int) -> int:
    """Return 0 if the app says that it is ready; else write the reason to standard error and return 1."""
    try:
        with socket.create_connection((host, port), _TIMEOUT_S) as connection:
            connection.sendall(f"GET /health/ready HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
            status = connection.makefile("rb").readline().decode("latin-1").strip()
    except OSError as error:
        status = str(error)
    if status.split(" ")[1:2] == ["200"]:
        return 0
    sys.stderr.write(f"{host}:{port}: {status or 'no answer'}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
