"""Sounds that have been made, kept for who asks again: players ask for one sound in parts, and twice."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chassis.resilience.single_flight import SingleFlight
from gateway.expiring_store import ExpiringStore
from gateway.speech.synthesis import AudioSink

_MOST_BYTES = 4 * 2**20
"""Of one sound that is kept: minutes of speech."""

Say = Callable[[AudioSink], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CachedSound:
    """A whole sound."""

    media_type: str
    content: bytes


class SoundCache:
    """Keeps them by name for `ttl_s` seconds."""

    def __init__(self, kept: ExpiringStore, ttl_s: float) -> None:
        self._kept = kept
        self._ttl_s = ttl_s
        self._made: dict[str, SingleFlight[CachedSound]] = {}

    async def get(self, name: str) -> CachedSound | None:
        """The sound, if it has been made and is still there."""
        value = await self._kept.get(name)
        if value is None:
            return None
        media_type, _, content = value.partition(b"\n")
        return CachedSound(media_type.decode(), content)

    def caching(self, name: str, say: Say, tenant: str) -> Say:
        """`say`, whose sound is kept once it is whole."""

        async def kept(sink: AudioSink) -> None:
            pieces: list[bytes] = []
            size, kind = 0, ""

            async def both(media_type: str, piece: bytes) -> None:
                nonlocal size, kind
                size, kind = size + len(piece), media_type
                if size <= _MOST_BYTES:
                    pieces.append(piece)
                await sink(media_type, piece)

            await say(both)
            if size <= _MOST_BYTES:
                await self._kept.put(name, b"\n".join((kind.encode(), b"".join(pieces))), self._ttl_s, tenant)

        return kept

    async def whole(self, name: str, say: Say, tenant: str) -> CachedSound:
        """The sound once it is made, for all who want it meanwhile. Raises what the first `say` raises."""

        async def make() -> CachedSound:
            pieces: list[bytes] = []
            kind = ""

            async def sink(media_type: str, piece: bytes) -> None:
                nonlocal kind
                kind = media_type
                pieces.append(piece)

            await self.caching(name, say, tenant)(sink)
            return CachedSound(kind, b"".join(pieces))

        flight = self._made.setdefault(name, SingleFlight(at_once=1, every_s=1.0))
        try:
            return await flight.get(make)
        finally:
            if self._made.get(name) is flight:
                del self._made[name]
