"""Conversations that the gateway remembers, in memory or in a store that several gateways share.

A session is one entry of the store: a list with the photo as its head, and then the turns.
"""

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter
from pydantic_core import from_json

from chassis.errors import PayloadTooLarge, SessionNotFound
from gateway.serving.tenants import PUBLIC
from gateway.state import Photo, Turn
from gateway.store import ListChange, Store, delete_unreadable

ID_BYTES = 24
"""Random bytes in a session id, before base64."""
MOST_TURNS = 12
"""The turns that a session keeps, the latest ones."""
MOST_PHOTO_BYTES, MOST_TURN_BYTES = 8 * 2**20, 256 * 2**10
"""The largest JPEG, and the largest turn as JSON. Larger ones are refused."""
_ID = re.compile(r"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: the photo it is about, if any, and its latest turns, oldest first."""

    session_id: str
    photo: Photo | None = None
    turns: tuple[Turn, ...] = ()


class Sessions:
    """Remembers conversations, each for its tenant and for `ttl_s` seconds after its last write.

    Methods raise `SessionNotFound` if a session never was, is another tenant's, was deleted or has expired,
    and `DependencyUnavailable` if the store does not answer. Turns appended at the same time are all stored;
    of photos sent at the same time the last one stays.
    """

    def __init__(self, store: Store, ttl_s: float = 3600.0) -> None:
        self._store = store
        self._ttl_s = ttl_s

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        """Return the session as it is now."""
        key = _key(session_id, tenant)
        items = await self._store.items(key)
        if items:
            try:
                return _decode_session(session_id, items)
            except (ValueError, TypeError):
                await delete_unreadable(self._store, key, tenant, "session")
        raise SessionNotFound

    async def append_turn(
        self,
        session_id: str,
        turn: Turn,
        photo: Photo | None = None,
        tenant: str = PUBLIC,
        *,
        create: bool = False,
    ) -> None:
        """Store a turn and, if there is one, the photo that replaces the session's photo, in one step.

        `create`: begin the session if there is none. Raises `PayloadTooLarge` if the turn or the photo is
        larger than its bound.
        """
        item = encode_turn(turn)
        if len(item) > MOST_TURN_BYTES:
            raise PayloadTooLarge("This turn is too long to be remembered.")
        if photo is not None and len(photo.jpeg) > MOST_PHOTO_BYTES:
            raise PayloadTooLarge("This photo is too large to be remembered.")
        head = None if photo is None else _encode_photo(photo)
        change = ListChange(MOST_TURNS, head, create)
        if not await self._store.append(_key(session_id, tenant), item, self._ttl_s, tenant, change):
            raise SessionNotFound

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """Forget the session, its photo included."""
        if not await self._store.delete(_key(session_id, tenant), tenant):
            raise SessionNotFound


def new_session_id() -> str:
    """Return 192 random bits: knowing an id is what entitles a caller to the conversation."""
    return secrets.token_urlsafe(ID_BYTES)


def _key(session_id: str, tenant: str) -> str:
    """Return the key of a session. Raises `SessionNotFound` if the id is malformed."""
    if _ID.fullmatch(session_id) is None:
        raise SessionNotFound
    return f"{tenant}:{session_id}"


_TURN = TypeAdapter(Turn)


def encode_turn(turn: Turn) -> bytes:
    """Return the turn as UTF-8 JSON, with `?` for a lone surrogate and `NaN` for such a number."""
    return json.dumps(asdict(turn), ensure_ascii=False).encode(errors="replace")


def _encode_photo(photo: Photo) -> bytes:
    facts = {"width": photo.width, "height": photo.height, "digest": photo.digest}
    return b"\n".join((json.dumps(facts).encode(), photo.jpeg))


def _decode_session(session_id: str, items: Sequence[bytes]) -> Session:
    """Raise an error that `Sessions.get` catches if the items have another format."""
    head, *turns = items
    facts, _, jpeg = head.partition(b"\n")
    photo = Photo(jpeg=jpeg, **from_json(facts)) if head else None
    return Session(session_id, photo, tuple(map(_TURN.validate_json, turns)))
