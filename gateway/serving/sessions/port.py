"""What the gateway remembers of a conversation, and what it asks of whatever remembers it."""

import re
import secrets
from dataclasses import dataclass
from typing import Protocol

from chassis.errors import PayloadTooLarge, SessionNotFound
from gateway.serving.sessions.encoding import encode_turn
from gateway.serving.tenants import PUBLIC
from gateway.state import Photo, Turn

ID_BYTES = 24
"""Of an id, before it is spelled in base64."""
_ID = re.compile(r"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: the photo it is about, if any, and its latest turns, oldest first."""

    session_id: str
    photo: Photo | None = None
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of one session. `ttl_s`: seconds that it outlives its last write; reading does not count.

    Sizes in bytes, of the JPEG and of a turn as JSON; a turn beyond its bound is refused, while turns
    beyond `max_turns` push out the oldest.
    """

    max_turns: int = 12
    max_photo_bytes: int = 8 * 2**20
    max_turn_bytes: int = 256 * 2**10
    ttl_s: float = 3600.0

    def __post_init__(self) -> None:
        if min(self.max_turns, self.max_photo_bytes, self.max_turn_bytes) < 1 or self.ttl_s <= 0:
            raise ValueError("every limit of a session must be positive")

    @property
    def max_session_bytes(self) -> int:
        """More than this no session can hold."""
        return self.max_photo_bytes + self.max_turns * self.max_turn_bytes

    def admit(self, turn: Turn, photo: Photo | None) -> bytes:
        """The turn's JSON. Raises `PayloadTooLarge` where the turn or the photo is over its bound."""
        encoded = encode_turn(turn)
        if len(encoded) > self.max_turn_bytes:
            raise PayloadTooLarge("This turn is too long to be remembered.")
        if photo is not None and len(photo.jpeg) > self.max_photo_bytes:
            raise PayloadTooLarge("This photo is too large to be remembered.")
        return encoded


class SessionStore(Protocol):
    """Remembers conversations, each for the tenant that it was created for.

    Methods that name a session raise `SessionNotFound` when it never was, is another tenant's, was deleted or
    has expired, and `DependencyUnavailable` when the store does not answer. Turns appended at the same time
    are all kept, in the order in which the store saw them; of photos sent at once the last one stays.
    """

    async def create(self, tenant: str = PUBLIC, session_id: str | None = None) -> Session:
        """A new, empty session. `session_id`: one from `new_session_id`, if it was told already."""
        ...

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        """The session as it is now."""
        ...

    async def append_turn(
        self, session_id: str, turn: Turn, photo: Photo | None = None, tenant: str = PUBLIC
    ) -> None:
        """Remember a turn and, if there is one, the photo that replaces the session's photo, in one step."""
        ...

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """Forget the session, its photo included."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


def new_session_id() -> str:
    """192 random bits: knowing an id is what entitles a caller to the conversation."""
    return secrets.token_urlsafe(ID_BYTES)


def require_session_id(session_id: str) -> None:
    """Refuse what cannot be an id before it becomes a key. Raises `SessionNotFound`."""
    if _ID.fullmatch(session_id) is None:
        raise SessionNotFound
