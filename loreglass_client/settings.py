"""The client's settings, from the environment."""

import os

DEFAULT_URL = "http://127.0.0.1:7100"


def environment() -> tuple[str, str]:
    """Return `LOREGLASS_GATEWAY_URL` and `LOREGLASS_API_KEY`."""
    url, key = os.environ.get("LOREGLASS_GATEWAY_URL"), os.environ.get("LOREGLASS_API_KEY", "")
    return url or DEFAULT_URL, key.strip()
