"""A question together with what services find out about its photo meanwhile."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.reasoning.port import ReadPhoto
from gateway.state import Entity, Query

Recognise = Callable[[], Awaitable[tuple[Entity, ...]]]
"""Waits for the image search that already runs; awaiting it twice is free."""


@dataclass(frozen=True, slots=True)
class PhotoContext:
    """`read_photo`: what is printed in the photo; `recognise`: the things most like it, best first.

    A reasoner that needs neither does not wait for them.
    """

    query: Query
    read_photo: ReadPhoto
    recognise: Recognise

    async def services_done(self) -> None:
        """Wait for both."""
        await self.read_photo()
        await self.recognise()
