"""Where the gateway is, and the key that it asks for, as the environment tells."""

import os

DEFAULT_URL = "http://127.0.0.1:7100"


def environment() -> tuple[str, str]:
    """`LOREGLASS_GATEWAY_URL` and `LOREGLASS_API_KEY`."""
    url, key = os.environ.get("LOREGLASS_GATEWAY_URL"), os.environ.get("LOREGLASS_API_KEY", "")
    return url or DEFAULT_URL, key.strip()
