"""Access to a service: a token for reading, another for writing."""

import hmac
import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.errors import ForeignPage, LoreglassError, MalformedRequest, Unauthorized
from chassis.http.problems import problem_response

OPEN_PATHS = frozenset({"/health/live", "/health/ready", "/info", "/metrics"})
"""For probes, Prometheus and `loreglass doctor`, which hold no token. They tell nothing of questions."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_CLUSTER = re.compile(r"\.[a-z0-9-]+\.svc(\.cluster\.local)?")
_SCHEME = b"bearer "


@dataclass(frozen=True, slots=True)
class Access:
    """`token`: for routes that read; `write_token`: for all routes. Empty where the routes are open.

    `hosts`: further names that the service answers to; `*` for any.
    """

    token: str = field(default="", repr=False)
    write_token: str = field(default="", repr=False)
    hosts: frozenset[str] = frozenset()

    def allows(self, given: bytes | None, *, writes: bool) -> bool:
        """Return whether an `Authorization` header is enough. Compares in constant time."""
        needed = [self.write_token] if writes else [self.token, self.write_token]
        if not needed[0]:
            return True
        token_given = (given or b"")[len(_SCHEME) :] if (given or b"").lower().startswith(_SCHEME) else b""
        return any([hmac.compare_digest(token_given, token.encode()) for token in needed if token])

    def answers_to(self, host: str, name: str) -> bool:
        """Return whether a `Host` header names this service, against DNS rebinding."""
        without_port = re.sub(r":\d*\Z", "", host.lower())
        if without_port in _LOCAL or "*" in self.hosts or without_port in self.hosts or _is_ip(without_port):
            return True
        own = name.replace("_", "-")
        return without_port in (name, own) or (
            without_port.startswith(own) and _CLUSTER.fullmatch(without_port, len(own)) is not None
        )


class AccessMiddleware:
    """Refuses a request before its body is read."""

    def __init__(self, app: ASGIApp, name: str, access: Access, write_routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._name = name
        self._access = access
        self._write_routes = write_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            refusal = self._refusal(scope)
            if refusal is not None:
                trace_id = scope.get("state", {}).get("trace_id")
                await problem_response(refusal, trace_id)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> LoreglassError | None:
        given = dict(scope["headers"])
        if not self._access.answers_to(given.get(b"host", b"").decode("latin-1"), self._name):
            return MalformedRequest("This service does not go by that host name.")
        writes = any(route.matches(scope)[0] is Match.FULL for route in self._write_routes)
        if not self._access.allows(given.get(b"authorization"), writes=writes):
            return Unauthorized("This service needs its token.")
        return None


class PagesMiddleware:
    """For an app without keys: pages of other sites, in a browser that reaches it, may not use it.

    A name that is made to point here (DNS rebinding) shows in `Host`, another site's page in `Origin`.
    `origins`: sites that may, or `*`; pages served by this machine may too.
    """

    def __init__(self, app: ASGIApp, name: str, access: Access, origins: Collection[str]) -> None:
        self._app = app
        self._name = name
        self._access = access
        self._origins = frozenset(each.lower().rstrip("/") for each in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(dict(scope["headers"])) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        await problem_response(refusal, scope.get("state", {}).get("trace_id"))(scope, receive, send)

    def _refusal(self, headers: Mapping[bytes, bytes]) -> LoreglassError | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # A name without a dot is no site's: it is of this network, such as a container's.
        if "." in host and not self._access.answers_to(host, self._name):
            return ForeignPage(
                "This gateway does not go by that host name: LOREGLASS_GATEWAY_HOSTS names more."
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        scheme, _, site = origin.partition("://")
        if not origin or "*" in self._origins or origin in self._origins:
            return None
        if scheme in ("http", "https") and (site == host or re.sub(r":\d*\Z", "", site) in _LOCAL):
            return None
        return ForeignPage(
            "Pages of this site may not ask here: LOREGLASS_GATEWAY_ORIGINS names those that may."
        )


def _is_ip(host: str) -> bool:
    """An address is no name that somebody else could point here."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether this address is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
