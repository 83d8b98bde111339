"""Access to a service: a token for reading, another for writing."""

import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from chassis.addresses import is_loopback
from chassis.errors import ForeignPage, MalformedRequest, Unauthorized

OPEN_PATHS = frozenset({"/health/live", "/health/ready", "/info", "/metrics"})
"""For probes, Prometheus and `loreglass doctor`, which hold no token. They tell nothing of questions."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_CLUSTER = re.compile(r"\.[a-z0-9-]+\.svc(\.cluster\.local)?")
_SCHEME = b"bearer "
_PROXY_HEADERS = frozenset(
    (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"via")
)

Check = Callable[[Scope], None]
"""Raises the `LoreglassError` that refuses the request."""


@dataclass(frozen=True, slots=True)
class Access:
    """`token`: for routes that read; `write_token`: for all routes. Empty where the routes are open.

    `hosts`: further names that the service answers to; `*` for any.
    """

    token: str = field(default="", repr=False)
    write_token: str = field(default="", repr=False)
    hosts: frozenset[str] = frozenset()

    def allows(self, header: bytes | None, *, writes: bool) -> bool:
        """Return whether an `Authorization` header is enough. Compares in constant time."""
        needed = [self.write_token] if writes else [self.token, self.write_token]
        if not needed[0]:
            return True
        token_given = (header or b"")[len(_SCHEME) :] if (header or b"").lower().startswith(_SCHEME) else b""
        return any([hmac.compare_digest(token_given, token.encode()) for token in needed if token])

    def answers_to(self, host: str, name: str) -> bool:
        """Return whether a `Host` header names this service, against DNS rebinding."""
        without_port = _without_port(host.lower())
        if without_port in _LOCAL or "*" in self.hosts or without_port in self.hosts or _is_ip(without_port):
            return True
        own = name.replace("_", "-")
        return without_port in (name, own) or (
            without_port.startswith(own) and _CLUSTER.fullmatch(without_port, len(own)) is not None
        )


@dataclass(frozen=True, slots=True)
class Callers:
    """The treatment of a request's caller, before the body is read.

    `check`: raises the error that refuses the request. `tenant_of`: the tenant; empty without a valid key.
    `sees_tenants`: whether metrics for this caller may name tenants. `upload_share`: of the room for bodies,
    the most that one tenant may use. `name_scopes`: callers may name the tenant that they ask for
    (`chassis.scope`); only for services, whose callers are our own.
    """

    tenant_of: Callable[[Scope], str] = lambda _: ""
    sees_tenants: Callable[[Scope], bool] = lambda _: True
    upload_share: float = 1.0
    check: Check = lambda _: None
    name_scopes: bool = False


def check_token(access: Access, name: str, write_routes: Sequence[BaseRoute]) -> Check:
    """Return the check of a service: its host name and its token. Probes need neither."""

    def check(scope: Scope) -> None:
        if scope["path"] in OPEN_PATHS:
            return
        headers = dict(scope["headers"])
        if not access.answers_to(headers.get(b"host", b"").decode("latin-1"), name):
            raise MalformedRequest("This service does not go by that host name.")
        writes = any(route.matches(scope)[0] is Match.FULL for route in write_routes)
        if not access.allows(headers.get(b"authorization"), writes=writes):
            raise Unauthorized("This service needs its token.")

    return check


def check_site(access: Access, name: str, origins: Iterable[str]) -> Check:
    """Return the check of an app without keys: pages of other sites may not use it through a browser.

    DNS rebinding shows in `Host`, another site in `Origin`. `origins`: the sites that may, or `*`. Pages of
    this machine may, too. A host name without a dot belongs to a local network and needs no permission.
    """
    allowed = frozenset(each.lower().rstrip("/") for each in origins)

    def check(scope: Scope) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if "." in host and not access.answers_to(host, name):
            raise ForeignPage("Unknown host name. Add it to LOREGLASS_GATEWAY_HOSTS.")
        scheme, _, site = origin.partition("://")
        is_own = scheme in ("http", "https") and (site == host or _without_port(site) in _LOCAL)
        if origin and not is_own and allowed.isdisjoint((origin, "*")):
            raise ForeignPage("Pages of this site may not ask. Add it to LOREGLASS_GATEWAY_ORIGINS.")

    return check


def is_sent_from_here(scope: Scope) -> bool:
    """Return whether a program of this machine sends the request, and no proxy passes it on."""
    client = scope.get("client")
    return (
        client is not None
        and is_loopback(client[0])
        and _PROXY_HEADERS.isdisjoint(name for name, _ in scope["headers"])
    )


def _without_port(host: str) -> str:
    return re.sub(r":\d*\Z", "", host)


def _is_ip(host: str) -> bool:
    """An address is no name that somebody else could point here."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
