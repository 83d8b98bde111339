"""What a reply must never hold, and when a class's figures are not right."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.inputs import Input
from tests.attacks.sending import Reply

ROOT = Path(__file__).resolve().parents[2]
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
_OWN_PAGES = re.compile(rb"\A(?:GET|HEAD) (?:/page/|/openapi\.json|/docs|/ |/operator)")
"""Scripts and documents for everybody, which name exceptions of the browser and shapes of errors."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Looks for `planted` secrets (what, bytes) and for what tells of the inside."""

    planted: Mapping[str, bytes]

    def leaks(self, given: Input, reply: Reply) -> list[str]:
        """What the reply tells that the caller has not said."""
        return [
            what
            for what, said in self._told(reply.raw, _OWN_PAGES.match(given.data) is not None)
            if said not in given.data
        ]

    def leaks_of_log(self, content: bytes) -> list[str]:
        """Planted secrets in a log."""
        return [what for what, secret in self.planted.items() if secret in content]

    def _told(self, raw: bytes, own_page: bool) -> Iterator[tuple[str, bytes]]:
        for what, secret in self.planted.items():
            if secret in raw:
                yield what, secret
        if own_page:
            return
        for what, pattern in _INSIDE.items():
            if found := pattern.search(raw):
                yield what, found[0]
