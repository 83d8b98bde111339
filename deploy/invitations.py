"""One-time tokens that a phone or another device exchanges for a key of its own (`loreglass serve --lan`).

A token is in the part of an address that browsers do not send (`#join=…`), so no log holds it. Tokens are in
memory only; of keys, the keys file holds digests.
"""

import hmac
import io
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio.to_thread
import segno
import structlog
from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field, SecretStr

from chassis.errors import NotConfigured, Unauthorized
from chassis.http.bodies import Router
from chassis.keys import ApiKey
from chassis.resilience.deadlines import Clock
from deploy.administration import KeysFileEditor
from deploy.operator import require_operator
from gateway.routes.intake import GatewayDep
from gateway.state import Priority

GOOD_FOR_S = 3600.0
_MOST_OPEN = 8
"""Tokens that are open at one time; a further one replaces the oldest."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Invitation:
    """An address that lets one device join, once."""

    url: str

    def in_terminal(self) -> str:
        """Return the address as a QR code of Unicode blocks, for a dark terminal."""
        text = io.StringIO()
        self._code().terminal(text, compact=True)
        return text.getvalue()

    def as_svg(self) -> str:
        """Return the address as a QR code, a `data:` address of an SVG."""
        return self._code().svg_data_uri(scale=4, light="white")

    def _code(self) -> segno.QRCode:
        return segno.make_qr(self.url, error="l")


class Invitations:
    """Makes invitations, and keys for those who bring one. `site`: the address of the gateway for devices."""

    def __init__(self, site: Callable[[], str], keys_file: Path, clock: Clock = time.monotonic) -> None:
        self._site = site
        self._keys = KeysFileEditor(keys_file)
        self._clock = clock
        self._open: deque[tuple[str, float]] = deque(maxlen=_MOST_OPEN)
        self._using = threading.Lock()

    def invite(self) -> Invitation:
        """Return a new invitation. It expires after an hour."""
        token = secrets.token_urlsafe(16)
        self._open.append((token, self._clock() + GOOD_FOR_S))
        return Invitation(f"{self._site()}/#join={token}")

    def accept(self, token: str) -> ApiKey:
        """Exchange a token for a new key. Blocking.

        Raises `Unauthorized` for a token that is not open any more, and as `KeysFileEditor.add` if the key
        cannot be stored; the token is used up then, too.
        """
        with self._using:
            self._use_up(token)
        key = self._keys.add("", Priority.INTERACTIVE, operator=False)
        log.info("device_joined", tenant=f"device-{key.prefix}")
        return key

    def _use_up(self, token: str) -> None:
        for open_token, expires_at in tuple(self._open):
            if hmac.compare_digest(open_token.encode(), token.encode()):
                self._open.remove((open_token, expires_at))
                if self._clock() < expires_at:
                    return
        raise Unauthorized("This code was used or has expired. Show a new one on the operator page.")


class JoinRequest(BaseModel):
    token: Annotated[SecretStr, Field(max_length=100)]


class DeviceKey(BaseModel):
    """The new key of a device. It cannot be shown again."""

    key: str


class InvitationReply(BaseModel):
    """An address that lets one device join, the same as a QR code (`data:` address), and the certificate's
    SHA-256 fingerprint."""

    url: str
    code: str
    fingerprint: str


def invitations_router(invitations: Invitations | None, fingerprint: Callable[[], str] = str) -> APIRouter:
    """Return `POST /devices/join`, and `POST /operator/invitations` for the operator.

    Without `invitations` both reply with how to start a platform that has them.
    """
    router = Router(include_in_schema=False)

    def required() -> Invitations:
        if invitations is None:
            raise NotConfigured(
                "This platform is not open to other devices. Start it with: loreglass serve --lan"
            )
        return invitations

    @router.post("/devices/join", status_code=201)
    async def join(body: JoinRequest, gateway: GatewayDep) -> DeviceKey:
        key = await anyio.to_thread.run_sync(required().accept, body.token.get_secret_value())
        gateway.keys.look_again_at_once()
        return DeviceKey(key=key.text)

    @router.post("/operator/invitations", status_code=201, dependencies=[Depends(require_operator)])
    async def invite() -> InvitationReply:
        invitation = required().invite()
        return InvitationReply(url=invitation.url, code=invitation.as_svg(), fingerprint=fingerprint())

    return router
