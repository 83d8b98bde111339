"""Answers as sound: their spoken text, signed URLs for a short time, and a cache of sounds."""

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from chassis.errors import NotFound
from gateway.speech.servers import AudioSink
from gateway.state import Priority
from gateway.store import Store, parse_stored
from language.sentences import sentences

PATH = "/speech"
_NAME_BYTES = 18
_SIGNATURE_BYTES = 18
_PARTS = 3
_MOST_SOUND_BYTES = 4 * 2**20
"""The largest sound that is cached: minutes of speech."""

Say = Callable[[AudioSink], Awaitable[object]]
"""Makes a sound, and gives it to the sink piece by piece."""


class SpokenText(BaseModel):
    """The text behind a URL. `tenant`, `priority`: of the question, for the queue of the speech server."""

    text: str
    tenant: str
    priority: Priority


class SignedSpeechUrls:
    """Issues URLs and looks them up. `now`: seconds on a clock that all gateways share.

    A URL needs no key, because an `<audio>` element cannot send one. Sound is made when somebody listens.
    """

    def __init__(
        self, secret: bytes, store: Store, ttl_s: float, now: Callable[[], float] = time.time
    ) -> None:
        self._secret = secret
        self._store = store
        self._ttl_s = ttl_s
        self._now = now

    async def give(self, text: SpokenText) -> str:
        """Return a URL, relative to the gateway's, that is valid for a while. Raises what storing raises."""
        name = secrets.token_urlsafe(_NAME_BYTES)
        until = f"{int(self._now() + self._ttl_s):x}"
        await self._store.put(_key(name), text.model_dump_json().encode(), self._ttl_s, text.tenant)
        return f"{PATH}/{name}.{until}.{self._signature(name, until)}"

    async def find(self, address_id: str) -> SpokenText:
        """Return the text of a URL by its last part. Raises `NotFound` for forged and expired ones alike."""
        parts = address_id.split(".")
        if len(parts) != _PARTS or not address_id.isascii():
            raise _gone()
        name, until, signature = parts
        if not hmac.compare_digest(signature, self._signature(name, until)) or self._now() >= int(until, 16):
            raise _gone()
        value = await self._store.get(_key(name))
        text = None if value is None else parse_stored(SpokenText, value)
        if text is None:
            raise _gone()
        return text

    def _signature(self, name: str, until: str) -> str:
        """Sign both, so that nobody can extend a URL's life."""
        digest = hmac.digest(self._secret, f"{name}.{until}".encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()


def _key(name: str) -> str:
    return f"speech:{name}"


def _gone() -> NotFound:
    return NotFound("There is no such sound, or it is no longer kept.")


@dataclass(frozen=True, slots=True)
class CachedSound:
    """A whole sound."""

    media_type: str
    content: bytes


class SoundCache:
    """Caches sounds by name for `ttl_s` seconds: players request one sound in parts, and twice."""

    def __init__(self, store: Store, ttl_s: float) -> None:
        self._store = store
        self._ttl_s = ttl_s

    async def get(self, name: str) -> CachedSound | None:
        value = await self._store.get(name)
        if value is None:
            return None
        media_type, _, content = value.partition(b"\n")
        return CachedSound(media_type.decode(), content)

    async def make(self, name: str, say: Say, tenant: str, sink: AudioSink | None = None) -> CachedSound:
        """Return the sound that `say` makes, cached from now on. Each piece goes to `sink` as it arrives."""
        pieces: list[bytes] = []
        kind = ""

        async def collect(media_type: str, piece: bytes) -> None:
            nonlocal kind
            kind = media_type
            pieces.append(piece)
            if sink is not None:
                await sink(media_type, piece)

        await say(collect)
        content = b"".join(pieces)
        if len(content) <= _MOST_SOUND_BYTES:
            await self._store.put(name, b"\n".join((kind.encode(), content)), self._ttl_s, tenant)
        return CachedSound(kind, content)


_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}(?:\s[^()\n]{0,300})?\)")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s()<>\[\]]*[^\s()<>\[\].,;:!?]", re.IGNORECASE)
_EMPHASIS = re.compile(r"([*`]{1,3}|__|~~)(?=\S)(.{1,500}?)(?<=\S)\1")
_LINE_MARK = re.compile(r"^[ \t]{0,8}(?:#{1,6}|[-*+•>])[ \t]+", re.MULTILINE)
"""Of a heading, a list or a quotation."""
_FOOTNOTE = re.compile(r"\s?\[\^?\d{1,3}\]")
_EMPTY_BRACKETS = re.compile(r"\(\s*\)|<\s*>|\[\s*\]")
_LINE_END = re.compile(r"([^\s.!?:;,…])[ \t]*\n+\s*")
_SPACE = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"\s+([.,;:!?])")
_MOST_TIMES = 4
"""Marks and addresses are removed, so more text is read than is spoken, within this bound."""


def speakable(text: str, most_chars: int) -> str:
    """Return `text` without links, addresses and marks, cut at the end of a sentence if possible."""
    plain = _LINE_MARK.sub("", text[: _MOST_TIMES * most_chars])
    plain = _ADDRESS.sub("", _LINK.sub(r"\1", plain))
    plain = _EMPHASIS.sub(r"\2", _FOOTNOTE.sub("", plain))
    plain = _EMPTY_BRACKETS.sub("", plain)
    plain = _SPACE.sub(" ", _LINE_END.sub(r"\1. ", plain))
    return _cut(_BEFORE_STOP.sub(r"\1", plain).strip(" ,"), most_chars)


def _cut(plain: str, most_chars: int) -> str:
    if len(plain) <= most_chars:
        return plain
    ends = [sentence.end for sentence in sentences(plain) if sentence.end <= most_chars]
    return plain[: ends[-1]] if ends else plain[:most_chars].rsplit(" ", 1)[0]
