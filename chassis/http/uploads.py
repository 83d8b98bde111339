"""Bytes of request bodies that an app holds at one time, over all of its requests."""

import time
from collections import Counter
from collections.abc import Callable

from chassis.errors import Overloaded

_RETRY_S = 2.0
_STEP_BYTES = 64 * 2**10
_STALLED_S = 2.0
"""If others wait for its place, a body must grow by a step in this time."""
_WHOLE_S = 60.0
"""And by so much as would make it whole in this one: 3 MB at 50 kB/s are in time, 32 MB are not."""


Owner = tuple[str, str]
"""`address` or `tenant`, and which."""


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
    """A body has its place as soon as its length is declared, so that who is refused need not send it.

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
