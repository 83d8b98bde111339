"""Serves an ASGI app that is no FastAPI app, and tells the parent process where."""

import json
import socket
import sys

import uvicorn
from starlette.types import ASGIApp


async def announced(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until told to stop; the first line of standard output is JSON with `url`."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
    )
    announce(listener)
    await server.serve([listener])


def announce(listener: socket.socket) -> None:
    """Connections that come before the server runs wait in the listener's backlog."""
    host, port = listener.getsockname()[:2]
    sys.stdout.write(json.dumps({"url": f"http://{host}:{port}"}) + "\n")
    sys.stdout.flush()
