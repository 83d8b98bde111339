"""How much memory a deployment says that it holds."""

import urllib.request

_METRIC = "process_resident_memory_bytes"
_PATIENCE_S = 10


class NotTold(Exception):
    """The page has no such figure, or there is no page."""


def resident_bytes(url: str) -> float:
    """From `url`/metrics. Raises `NotTold`."""
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=_PATIENCE_S) as page:
            return read_resident_bytes(page.read().decode())
    except OSError as error:
        raise NotTold(f"{url}/metrics cannot be read: {error}") from error


def read_resident_bytes(page: str) -> float:
    """From a page of Prometheus's text format; the sum where several processes share it. Raises `NotTold`."""
    sizes = [
        float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if line.startswith((f"{_METRIC} ", f"{_METRIC}{{"))
    ]
    if not sizes:
        raise NotTold(f"There is no {_METRIC}.")
    return sum(sizes)
