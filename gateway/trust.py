"""Which sources count for more where they say different things: the operator's order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.addresses import host_of
from contracts.answer import CitationKind

_KINDS = {"record": CitationKind.IMAGE, "photo": CitationKind.PHOTO, "page": CitationKind.PAGE}
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+")
CURATED_FIRST = "record > photo > page"


@dataclass(frozen=True, slots=True)
class Trust:
    """Sources by name, most trusted first: `record` (what is known of a thing that image search knows),
    `photo` (print in it), `page`, or a host, which stands for its pages and those of its subdomains.
    """

    order: tuple[frozenset[str], ...]

    @classmethod
    def parse(cls, text: str) -> "Trust":
        """As it is written in settings: `record > docs.example.org, photo > page`. Raises `ValueError`."""
        order = [
            frozenset(name.strip().lower() for name in place.split(",") if name.strip())
            for place in text.split(">")
        ]
        for name in frozenset[str]().union(*order):
            if name not in _KINDS and not _HOST.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is neither record, photo, page nor a host")
        return cls(tuple(place for place in order if place))

    def rank(self, kind: CitationKind, url: str) -> int:
        """How much a source is trusted; one that is not named comes last, with 0. A host outweighs a kind."""
        host = (host_of(url) or "") if kind is CitationKind.PAGE else ""
        parts = host.split(".")
        hosts = [".".join(parts[place:]) for place in range(len(parts))] if host else []
        own = next(name for name, each in _KINDS.items() if each is kind)
        return next((rank for name in (*hosts, own) if (rank := self._rank(name))), 0)

    def _rank(self, name: str) -> int:
        return next((len(self.order) - place for place, each in enumerate(self.order) if name in each), 0)


def share(rank: int, others: Sequence[int]) -> float:
    """P(the value of a source of `rank` is right) where others say others: a rank higher counts twice."""
    return 2.0**rank / (2.0**rank + sum(2.0**other for other in others))


DEFAULT_TRUST = Trust.parse(CURATED_FIRST)
