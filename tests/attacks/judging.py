"""Find secrets and internals in replies and logs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HONEST = (501, 503, 504)
"""Not set up here, too busy, or out of time: no fault."""
_INSIDE = {
    "a path": re.compile(
        rf"{re.escape(str(ROOT))}|/site-packages/|/usr/(?:lib|local)/|/tmp/\w|/proc/\d".encode()
    ),
    "a stack trace": re.compile(rb"Traceback \(most|File \"[^\"]+\", line \d"),
    "an address": re.compile(rb"\b0x[0-9a-f]{8,16}\b|\b127\.0\.0\.1:\d{4,5}\b|\blocalhost:\d{4,5}\b"),
    "an exception's name": re.compile(rb"\b[A-Z][A-Za-z]{2,40}(?:Error|Exception)\b"),
    "a library's name": re.compile(
        rb"\b(?:pydantic|starlette|uvicorn|httptools|libtiff|PIL\.|ffmpeg|libav)\b"
    ),
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Finds `planted` secrets (name, bytes), and what describes the inside of the program."""

    planted: Mapping[str, bytes]

    def faults(self, status: int, sent: bytes, raw: bytes) -> list[str]:
        """Return what is wrong with a reply: a 500, or what it tells that the caller has not sent."""
        results = [f"status {status}"] if status >= 500 and status not in HONEST else []
        return results + [f"tells {name}" for name, text in self._read_parts(raw) if text not in sent]

    def _read_parts(self, raw: bytes) -> Iterator[tuple[str, bytes]]:
        for name, secret in self.planted.items():
            if secret in raw:
                yield name, secret
        for name, pattern in _INSIDE.items():
            if result := pattern.search(raw):
                yield name, result[0]
