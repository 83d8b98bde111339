"""Limits on open connections and on bodies in memory, in all and for one address or tenant.

Where there is no room, those give way that rest longest, or that grow too slowly for what they hold.
"""

import ipaddress
import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chassis.errors import Overloaded

if TYPE_CHECKING:
    from chassis.http.protocol import BoundedProtocol

_WANTED_DESCRIPTORS = 65_536
_MOST_CONNECTIONS = 4_096
"""Of an app, however many descriptors there are: each may hold a few hundred kilobytes for a while."""
_SHARE_OF_DESCRIPTORS = 0.75
"""The rest is for calls to others, files and listening sockets."""
_RETRY_S = 2.0
_STEP_BYTES = 64 * 2**10
_STALLED_S = 2.0
"""If others wait for its place, a body must grow by a step in this time."""
_WHOLE_S = 60.0
"""And by so much as would make it whole in this one: 3 MB at 50 kB/s are in time, 32 MB are not."""


Owner = tuple[str, str]
"""`address` or `tenant`, and which."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of connections and of what one may send, in bytes and seconds.

    `connections` 0: as many as descriptors allow. `body_rate`: of a body, in bytes a second; 0: any.
    """

    connections: int = 0
    share_per_address: float = 1.0
    header_bytes: int = 32 * 2**10
    header_s: float = 10.0
    body_rate: int = 1_000


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


class Upload:
    """The place of one body, held until `close`."""

    def __init__(
        self, budget: "UploadBudget", owners: tuple[Owner, ...], give_up: Callable[[], None]
    ) -> None:
        self.owners = owners
        self.give_up = give_up
        self.reserved = self.received = 0
        self.complete = False
        self.opened_at = self.advanced_at = budget.clock()
        self._budget = budget
        self._step = 0

    def receive(self, size: int, *, more: bool) -> None:
        """Count received bytes. Raises `Overloaded` if there is no room for undeclared ones."""
        self.received += size
        self.complete = not more
        if self.received > self.reserved:
            self._budget.reserve(self, self.received - self.reserved)
        if self.received >= self._step:
            self._step = self.received + _STEP_BYTES
            self.advanced_at = self._budget.clock()

    def is_late(self, now: float) -> bool:
        """Return whether it holds its place for longer than its growth is worth."""
        if self.complete or not self.reserved:
            return False
        due = self.reserved * (now - self.opened_at - _STALLED_S) / _WHOLE_S
        return self.advanced_at <= now - _STALLED_S or self.received < due

    def close(self) -> None:
        """Release the place. A second call does nothing."""
        self._budget.release(self)


class UploadBudget:
    """Reserve memory when the length is declared, so that a refused client need not send the body.

    Where there is no room left, bodies that grow too slowly for what they hold give way, first the one that
    has most of its own still to come. One address has at most `share_per_address` of the room, and one
    tenant, from whatever addresses, at most `share_per_tenant`.
    """

    def __init__(
        self,
        total_bytes: int,
        share_per_address: float = 1.0,
        largest_bytes: int = 0,
        clock: Callable[[], float] = time.monotonic,
        share_per_tenant: float = 1.0,
    ) -> None:
        """`largest_bytes`: of one body, for which there is room in any case."""
        self.clock = clock
        self._total = max(total_bytes, largest_bytes)
        shares = {"address": share_per_address, "tenant": share_per_tenant}
        self._most = {kind: max(int(self._total * share), largest_bytes) for kind, share in shares.items()}
        self._bytes = 0
        self._by_owner: Counter[Owner] = Counter()
        self._uploads: dict[Upload, None] = {}

    @property
    def held_bytes(self) -> int:
        """Bytes that are held or reserved."""
        return self._bytes

    def open(self, address: str, size: int, give_up: Callable[[], None], tenant: str = "") -> Upload:
        """A place for a body of `size` bytes, 0 where that is not known. Raises `Overloaded`.

        `give_up` is called when the place is needed for others. `tenant`: empty if the caller has no key.
        """
        owners = (("address", address), ("tenant", tenant)) if tenant else (("address", address),)
        upload = Upload(self, owners, give_up)
        self._uploads[upload] = None
        try:
            self.reserve(upload, size)
        except Overloaded:
            del self._uploads[upload]
            raise
        return upload

    def reserve(self, upload: Upload, size: int) -> None:
        """Room for `size` more bytes. Raises `Overloaded`."""
        if upload not in self._uploads:
            return
        for owner in upload.owners:
            while self._by_owner[owner] + size > self._most[owner[0]]:
                self._make_room(upload, owner)
        while self._bytes + size > self._total:
            self._make_room(upload, None)
        upload.reserved += size
        self._bytes += size
        for owner in upload.owners:
            self._by_owner[owner] += size

    def _make_room(self, asking: Upload, owner: Owner | None) -> None:
        now = self.clock()
        late = [
            each
            for each in self._uploads
            if each.is_late(now) and each is not asking and (owner is None or owner in each.owners)
        ]
        if not late:
            raise Overloaded("Too much is being uploaded just now.", retry_after_s=_RETRY_S)
        emptiest = max(late, key=lambda each: each.reserved - each.received)
        emptiest.close()
        emptiest.give_up()

    def release(self, upload: Upload) -> None:
        if upload not in self._uploads:
            return
        del self._uploads[upload]
        self._bytes -= upload.reserved
        for owner in upload.owners:
            self._by_owner[owner] -= upload.reserved
            if not self._by_owner[owner]:
                del self._by_owner[owner]
