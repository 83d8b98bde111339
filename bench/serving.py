"""Serve an ASGI app that was not made by FastAPI."""

import uvicorn
from starlette.types import ASGIApp


def serve(app: ASGIApp, port: int) -> None:
    """Serve on loopback until told to stop."""
    uvicorn.run(
        app,
        port=port,
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
