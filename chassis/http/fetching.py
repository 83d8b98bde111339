"""Fetch untrusted addresses: public hosts only, within limits of size and time."""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import anyio
import httpx

from chassis.resilience.deadlines import seconds_of

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_NAT64 = IPv6Network("64:ff9b::/96")
_NOBODYS = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20", "5f00::/16")))
"""Not public either (IANA's special-purpose registries; RFC 3879), though `ipaddress` may not know it."""
_MOST_TRIED = 3
"""Addresses of one host that are tried."""
_LONGEST_URL = 2048


class FetchFailed(Exception):
    """Nothing was fetched; the message says why, in one sentence. `status`: the host's, if it answered."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


_MOST_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`max_bytes` of a reply's body; `seconds` for all of it, names, redirects and body together."""

    max_bytes: int = 20 * 2**20
    seconds: float = 30.0


IsAllowed = Callable[[str], bool]
"""IP address -> whether a connection to it may be opened."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port -> IP addresses. Raises `OSError`."""


def is_public(address: str) -> bool:
    """Return whether the IP address belongs to the public internet, also when one form hides another.

    False for loopback, private, link-local (so a cloud's metadata), shared, multicast and reserved ones.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    hidden = _hidden(ip) if isinstance(ip, IPv6Address) else None
    if hidden is not None:
        return is_public(str(hidden))
    if any(ip in network for network in _NOBODYS):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback)


def _hidden(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that packets to this one end at (mapped, 6to4 or NAT64)."""
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the host's addresses; IPv4 first, because many containers have no route for IPv6."""
    addresses = await anyio.getaddrinfo(host, port)
    return sorted({str(address[0]) for *_, address in addresses}, key=lambda each: (":" in each, each))


class PublicFetcher:
    """Sends GETs to public hosts only: it connects to the very address that was checked.

    A host that is busy and says for how long is asked again, within the limit of time.

    Proxies named in the environment are not used, since nothing can be checked behind them.
    """

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        is_allowed: IsAllowed = is_public,
        resolve: Resolve = resolve_host,
        accept: str = "*/*",
    ) -> None:
        """`is_allowed` and `resolve` are for tests, which have no public host."""
        self.limits = limits or FetchLimits()
        self._is_allowed = is_allowed
        self._resolve = resolve
        self._headers = {"User-Agent": "Loreglass/0.1", "Accept": accept, "Accept-Encoding": "identity"}
        self._tls = ssl.create_default_context()

    async def fetch(self, url: str) -> bytes:
        """The body behind the URL. Raises `FetchFailed`."""
        try:
            with anyio.fail_after(self.limits.seconds):
                async with httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=None) as client:
                    return await self._follow(client, _parse(url))
        except TimeoutError as error:
            raise FetchFailed(f"It took longer than {self.limits.seconds:g} s.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchFailed(f"The host cannot be reached ({type(error).__name__}).") from error
        except (OSError, UnicodeError) as error:
            raise FetchFailed("The host's name leads nowhere.") from error

    async def _follow(self, client: httpx.AsyncClient, url: httpx.URL) -> bytes:
        for step in range(_MOST_REDIRECTS + 1):
            response = await self._send(client, url)
            try:
                busy = response.status_code in _BUSY and step < _MOST_REDIRECTS
                wait_s = seconds_of(response.headers.get("Retry-After")) if busy else None
                if response.status_code in _REDIRECTS:
                    url = _parse(str(url.join(response.headers.get("Location", ""))))
                elif wait_s is None:
                    return await self._body(response)
            finally:
                await response.aclose()
            if wait_s:
                await anyio.sleep(wait_s)
        raise FetchFailed(f"It leads on more than {_MOST_REDIRECTS} times.")

    async def _send(self, client: httpx.AsyncClient, url: httpx.URL) -> httpx.Response:
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await self._resolve(url.host, port)
        if not addresses or not all(map(self._is_allowed, addresses)):
            raise FetchFailed("The host is not on the public internet.")
        failure: httpx.TransportError | None = None
        for address in addresses[:_MOST_TRIED]:
            request = client.build_request(
                "GET",
                url.copy_with(host=address),
                headers={**self._headers, "Host": url.netloc.decode("ascii")},
                extensions={"sni_hostname": url.raw_host.decode("ascii").strip("[]")},
            )
            try:
                return await client.send(request, stream=True)
            except httpx.ConnectError as error:
                failure = error
        raise failure or FetchFailed("The host's name leads nowhere.")

    async def _body(self, response: httpx.Response) -> bytes:
        if response.status_code != httpx.codes.OK:
            status = response.status_code
            raise FetchFailed(f"The host answered with status {status}.", status)
        most = self.limits.max_bytes
        announced = response.headers.get("Content-Length", "")
        body = bytearray()
        if not (announced.isdecimal() and int(announced[:20]) > most):
            async for block in response.aiter_raw():
                body += block
                if len(body) > most:
                    break
            else:
                return bytes(body)
        raise FetchFailed(f"It is larger than {most // 2**20} MiB.")


def _parse(text: str) -> httpx.URL:
    """The URL without a name and password, which are nobody's to send on."""
    if len(text) > _LONGEST_URL:
        raise FetchFailed(f"The URL is longer than {_LONGEST_URL} characters.")
    try:
        url = httpx.URL(text.strip()).copy_with(userinfo=b"", fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchFailed("The URL cannot be read.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise FetchFailed("The URL is not an absolute http or https URL.")
    return url
