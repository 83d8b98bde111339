"""A question together with what services find out about its photo meanwhile."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.reasoning.port import ReadPhoto
from gateway.state import Ask, Entity

Recognise = Callable[[], Awaitable[tuple[Entity, ...]]]
"""Waits for the image search that already runs; awaiting it twice is free."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """`read_photo`: what is printed in the photo; `recognise`: the things most like it, best first.

    Whoever needs neither waits for neither.
    """

    ask: Ask
    read_photo: ReadPhoto
    recognise: Recognise

    async def services_done(self) -> None:
        """Wait for both."""
        await self.read_photo()
        await self.recognise()
