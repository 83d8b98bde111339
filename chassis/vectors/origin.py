"""The payload fields that identify a point's document. No pydantic: engines import this."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ADDRESS, SOURCE, ORIGIN = "address", "source", "origin"
KEYWORDS = (ADDRESS, SOURCE, ORIGIN)
"""Payload fields that documents are looked up by."""


@dataclass(frozen=True, slots=True)
class Origin:
    """`address`: the document's identity. `source`: the name of what was indexed; `place`: where that is."""

    address: str
    source: str = ""
    place: str = ""

    @property
    def payload(self) -> dict[str, str]:
        """Return its part of a point's payload."""
        return {ADDRESS: self.address, SOURCE: self.source, ORIGIN: self.place}


def origin_of(payload: Mapping[str, Any]) -> Origin:
    """Return a point's origin; points of earlier releases have a URL only."""
    address = payload.get(ADDRESS) or payload.get("url") or ""
    return Origin(str(address), str(payload.get(SOURCE, "")), str(payload.get(ORIGIN, "")))
