"""Signed, short-lived addresses of what an answer sounds like.

Whoever has one may fetch the sound: an `<audio>` element can send no key. The text is kept meanwhile, and is
spoken when somebody asks for it.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from pydantic import BaseModel, ValidationError

from chassis.errors import NotFound
from gateway.expiring_store import ExpiringStore
from gateway.state import Priority

_NAME_BYTES = 18
_SIGNATURE_BYTES = 18
_PARTS = 3
PATH = "/speech"


class SpokenText(BaseModel):
    """What an address stands for. `tenant`, `priority`: whose question it answers, for their turn."""

    text: str
    tenant: str
    priority: Priority


class SignedSpeechUrls:
    """Gives addresses out and looks them up. `now`: seconds on a clock that all gateways share."""

    def __init__(
        self, secret: bytes, kept: ExpiringStore, ttl_s: float, now: Callable[[], float] = time.time
    ) -> None:
        self._secret = secret
        self._kept = kept
        self._ttl_s = ttl_s
        self._now = now

    async def give(self, spoken_text: SpokenText) -> str:
        """An address, relative to the gateway's, that is good for a while. Raises what keeping raises."""
        name = secrets.token_urlsafe(_NAME_BYTES)
        until = f"{int(self._now() + self._ttl_s):x}"
        await self._kept.put(
            _key(name), spoken_text.model_dump_json().encode(), self._ttl_s, spoken_text.tenant
        )
        return f"{PATH}/{name}.{until}.{self._signature(name, until)}"

    async def find(self, address_id: str) -> SpokenText:
        """What its last part stands for. Raises `NotFound`, the same for what is forged and what is over."""
        parts = address_id.split(".")
        if len(parts) != _PARTS or not address_id.isascii():
            raise _gone()
        name, until, signature = parts
        if not hmac.compare_digest(signature, self._signature(name, until)) or self._now() >= int(until, 16):
            raise _gone()
        value = await self._kept.get(_key(name))
        if value is None:
            raise _gone()
        try:
            return SpokenText.model_validate_json(value)
        except ValidationError as error:  # of another version
            raise _gone() from error

    def _signature(self, name: str, until: str) -> str:
        """Of both, so that nobody lengthens an address's life."""
        signed = hmac.digest(self._secret, f"{name}.{until}".encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(signed[:_SIGNATURE_BYTES]).decode()


def _key(name: str) -> str:
    return f"speech:{name}"


def _gone() -> NotFound:
    return NotFound("There is no such sound, or it is no longer kept.")
