"""The open connections of an app: how many there may be, in all and from one address, and which gives way."""

import ipaddress
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chassis.http.protocol import BoundedProtocol

_WANTED_DESCRIPTORS = 65_536
_MOST_CONNECTIONS = 4_096
"""Of an app, however many descriptors there are: each may hold a few hundred kilobytes for a while."""
_SHARE_OF_DESCRIPTORS = 0.75
"""The rest is for calls to others, files and listening sockets."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of connections and of what one may send. Sizes in bytes, times in seconds.

    `connections` 0: as many as descriptors allow. `body_rate`: of a body, over each `body_window_s`; 0: any.
    `unread_s`: for taking some of a reply. `linger_s`: for what is still sent once the reply to it is out.
    """

    connections: int = 0
    share_per_address: float = 1.0
    header_bytes: int = 32 * 2**10
    header_lines: int = 100
    target_bytes: int = 8 * 2**10
    header_s: float = 10.0
    pipelined: int = 16
    body_rate: int = 1_000
    body_window_s: float = 10.0
    unread_s: float = 30.0
    linger_s: float = 30.0
    keep_alive_s: float = (
        75.0  # longer than our clients keep idle connections: none is closed under a request
    )


@dataclass(slots=True, eq=False)
class _Peer:
    """The connections of one address; `resting` ones have no request in hand, the longest rested first."""

    address: str
    count: int = 0
    resting: dict["BoundedProtocol", None] = field(default_factory=dict)


class Connections:
    """Counts connections. If there are too many, the one that was idle longest is closed for the new one."""

    def __init__(self, limits: ConnectionLimits, refused: Callable[[str], None] = lambda _: None) -> None:
        """`refused`: told the reason for each connection that is refused or closed before its time."""
        self.limits = limits
        self.refused = refused
        self._most = limits.connections or _MOST_CONNECTIONS
        self._peers: dict[str, _Peer] = {}
        self._open: dict[BoundedProtocol, _Peer] = {}
        self._resting: dict[BoundedProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def fit(self, allowed: int) -> None:
        """Allow at most `allowed`, unless the operator has set a number."""
        self._most = self.limits.connections or min(_MOST_CONNECTIONS, max(1, allowed))

    def add(self, connection: "BoundedProtocol", host: str) -> bool:
        """Count a new connection, which rests; false where it has to be refused. It is counted then, too."""
        address = address_of(host)
        peer = self._peers.get(address) or self._peers.setdefault(address, _Peer(address))
        of_one = max(1, int(self._most * self.limits.share_per_address))
        while peer.count >= of_one and self._make_room(peer.resting):
            pass  # more than one: those that were refused are counted and rest, too
        while len(self._open) >= self._most and self._make_room(self._resting):
            pass
        has_room = peer.count < of_one and len(self._open) < self._most
        peer.count += 1
        self._peers[address] = peer
        self._open[connection] = peer
        self.rest(connection)
        return has_room

    def _make_room(self, resting: dict["BoundedProtocol", None]) -> bool:
        oldest = next(iter(resting), None)
        if oldest is None:
            return False
        self.remove(oldest)
        self.refused("gave_way")
        oldest.give_way()
        return True

    def rest(self, connection: "BoundedProtocol") -> None:
        """The connection has no request in progress from now on."""
        peer = self._open.get(connection)
        if peer is not None:
            self._resting[connection] = peer.resting[connection] = None

    def work(self, connection: "BoundedProtocol") -> None:
        """The connection has a request in progress from now on."""
        peer = self._open.get(connection)
        if peer is not None:
            self._resting.pop(connection, None)
            peer.resting.pop(connection, None)

    def remove(self, connection: "BoundedProtocol") -> None:
        """The connection is closed. A second call does nothing."""
        self.work(connection)
        peer = self._open.pop(connection, None)
        if peer is not None:
            peer.count -= 1
            if not peer.count:
                del self._peers[peer.address]

    def watch(self, seconds: float) -> None:
        """Count the time for all connections, once a second; a late event loop is not their fault."""
        for connection in tuple(self._open):
            connection.watch(seconds)


def address_of(host: str) -> str:
    """Return the caller's address; of IPv6 its network of 64 bits, which belongs to one caller."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or ipaddress.IPv6Address(int(address) >> 64 << 64))


def connections_allowed(apps: int) -> int:
    """Return how many connections each of so many apps in this process may have.

    Raises the soft limit of descriptors as far as is of use: the usual 1,024 is for programs with `select`.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    goal = _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < goal:
        resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
        soft = goal
    usable = _WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    return int(usable * _SHARE_OF_DESCRIPTORS) // apps
