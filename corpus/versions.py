"""One alias of a service and the version behind it that an ingestion is filling."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode

import anyio
from pydantic import BaseModel

from chassis.errors import CollectionNotFound, DependencyUnavailable, LoreglassError
from chassis.http.calls import ServiceClient
from chassis.resilience.deadlines import Deadline
from contracts.collections import (
    PREVIOUS,
    BuildIndex,
    Built,
    Collection,
    Collections,
    CreateCollection,
    FinishedParts,
    MissingIds,
    PointIds,
    PublishAlias,
)
from contracts.documents import (
    LONGEST_LISTING,
    MOST_ADDRESSES,
    DocumentAddresses,
    Documents,
    HeldAddresses,
    SourcePlaces,
    SourcesThere,
    SourceUse,
)
from contracts.errors import ErrorKind

Result = TypeVar("Result")
Reply = TypeVar("Reply", bound=BaseModel)

INDEX_FORMAT = "3"
"""Part of every version's name: raise it when the same manifest must give another index."""
CALL_MS = 120_000
LONG_CALL_MS = 570_000
"""For copying a base and for publishing, which builds the index."""
MOST_IDS = 4096
BUILDING_S = 5.0
"""Between two looks at an index that is built."""
BUILT_WITHIN_S = 48 * 3600.0
"""docs/scale.md reckons with hours."""

_TEMPORARY = frozenset({ErrorKind.OVERLOADED, ErrorKind.DEPENDENCY_UNAVAILABLE, ErrorKind.NOT_READY})
_PAUSES_S = (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries of calls while a service is busy or restarts. `pause` waits for seconds of `clock`."""

    pauses_s: Sequence[float] = _PAUSES_S
    pause: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = time.monotonic

    async def call(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `attempt`, repeated after temporary failures. All writes may be repeated."""
        for pause_s in self.pauses_s:
            try:
                return await attempt()
            except LoreglassError as error:
                if error.kind not in _TEMPORARY:
                    raise
                await self.pause(max(pause_s, min(error.retry_after_s or 0.0, 10.0)))
        return await attempt()

    async def get(self, service: ServiceClient, path: str, reply: type[Reply]) -> Reply:
        return await self.call(lambda: service.get(path, reply, Deadline.after_ms(CALL_MS)))

    async def send(
        self,
        service: ServiceClient,
        path: str,
        body: BaseModel,
        reply: type[Reply],
        within_ms: int = CALL_MS,
        method: str = "POST",
    ) -> Reply:
        return await self.call(lambda: service.send(method, path, body, reply, Deadline.after_ms(within_ms)))


async def list_versions(service: ServiceClient, patience: Patience) -> list[Collection]:
    """Every version that the service holds, with the aliases that point at it."""
    return (await patience.get(service, "/v1/collections", Collections)).collections


async def sources_at(
    service: ServiceClient, alias: str, places: Sequence[str], patience: Patience
) -> dict[str, str]:
    """Return the names of the published sources that are at these places, by place."""
    body = SourcePlaces(origins=list(places))
    try:
        return (await patience.send(service, f"/v1/collections/{alias}/sources", body, SourcesThere)).sources
    except CollectionNotFound:
        return {}


async def point(service: ServiceClient, alias: str, version: str, patience: Patience) -> None:
    """Let all readers of the alias see the version, at once."""
    body = PublishAlias(alias=alias, collection=version)
    await patience.send(service, "/v1/aliases", body, Collection, LONG_CALL_MS)


async def roll_back(service: ServiceClient, alias: str, patience: Patience) -> tuple[str, str]:
    """Switch back to the previous version; return both names. A second call undoes it.

    Raises `CollectionNotFound` where there is none. Cut short between its two steps it has led back already.
    """
    targets = {name: each.name for each in await list_versions(service, patience) for name in each.aliases}
    now, before = targets.get(alias, ""), targets.get(alias + PREVIOUS, "")
    if before in ("", now):
        raise CollectionNotFound(f"The index of {alias} has no earlier version.")
    await point(service, alias, before, patience)
    if now:
        await point(service, alias + PREVIOUS, now, patience)
    return now, before


class Version:
    """The version that a manifest makes of what is published now.

    Its name is made from both, so that a run that was killed finds its half-filled version again. It is
    created when the first record turns out to be new.
    """

    def __init__(self, service: ServiceClient, alias: str, patience: Patience) -> None:
        self._service = service
        self._alias = alias
        self._patience = patience
        self._get = partial(patience.get, service)
        self._send = partial(patience.send, service)
        self._creating = anyio.Lock()
        self._published = ""
        self._base: str | None = None
        self._exists = False
        self.name = ""
        self.finished: tuple[str, ...] = ()
        """Parts of the manifest that an earlier run has brought into it whole."""

    async def open(self, manifest: str, *, replace: bool) -> None:
        """Look at what the service has. With `replace` the version starts empty, unless the published one was
        made of this manifest alone.

        Raises `DependencyUnavailable` where it would start with what cannot be opened.
        """
        held = await self._list()
        live = next((each for each in held if self._alias in each.aliases), None)
        if live is not None and live.fault and not replace:
            raise DependencyUnavailable(live.fault)
        self._published = live.name if live is not None and not live.fault else ""
        self._base = None if replace else self._published or None
        self.name = self._name(manifest)
        if self.name == self._published:  # readers must not see it change: changes go into a copy
            self._base = self._published
            self.name = self._name(manifest)
        begun = [each for each in held if each.name == self.name and not each.fault]
        self._exists = bool(begun)
        self.finished = tuple(name for each in begun for name in each.finished)

    def _name(self, manifest: str) -> str:
        parts = "\n".join([INDEX_FORMAT, self._alias, self._base or "", manifest])
        return f"{self._alias}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"

    @property
    def exists(self) -> bool:
        return self._exists

    async def missing(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that searches in the finished version would not find yet."""
        holder = self.name if self._exists else self._base
        if holder is None:
            return set(ids)
        absent: set[str] = set()
        for start in range(0, len(ids), MOST_IDS):
            part = PointIds(ids=list(ids[start : start + MOST_IDS]))
            absent.update((await self._send(f"/v1/collections/{holder}/missing", part, MissingIds)).ids)
        return absent

    async def held(self, addresses: Sequence[str]) -> set[str]:
        """Return the addresses that the published version contains."""
        if self._base is None:
            return set()
        return set(await self._send_addresses(f"/v1/collections/{self._base}/documents/held", addresses))

    async def is_used_elsewhere(self, source: str, place: str) -> bool:
        """Return whether the published version has documents of a source of this name from another place."""
        if self._base is None:
            return False
        query = urlencode({"source": source, "origin": place})
        path = f"/v1/collections/{self._base}/source?{query}"
        return (await self._get(path, SourceUse)).others

    async def documents(self, source: str) -> list[str]:
        """Return the addresses of a source's documents in the published version."""
        if self._base is None:
            return []
        addresses: list[str] = []
        while True:
            query = urlencode({"source": source, "offset": len(addresses), "limit": LONGEST_LISTING})
            page = await self._get(f"/v1/collections/{self._base}/documents?{query}", Documents)
            addresses += [each.address for each in page.documents]
            if not page.documents or len(addresses) >= page.found:
                return addresses

    async def remove(self, addresses: Sequence[str]) -> list[str]:
        """Remove documents; the addresses of those that were there."""
        if not addresses:
            return []
        return await self._send_addresses(
            f"/v1/collections/{await self.ensure()}/documents/remove", addresses
        )

    async def _send_addresses(self, path: str, addresses: Sequence[str]) -> list[str]:
        answered: list[str] = []
        for start in range(0, len(addresses), MOST_ADDRESSES):
            part = DocumentAddresses(addresses=list(addresses[start : start + MOST_ADDRESSES]))
            answered += (await self._send(path, part, HeldAddresses)).addresses
        return answered

    async def ensure(self) -> str:
        """The version's name, once the service has made it."""
        async with self._creating:
            if not self._exists:
                await self._create()
                self._exists = True
        return self.name

    async def _create(self) -> None:
        request = CreateCollection(name=self.name, base=self._base)
        await self._send("/v1/collections", request, Collection, LONG_CALL_MS)

    @property
    def starts_empty(self) -> bool:
        """Return whether it holds nothing but the manifest's records."""
        return self._base is None

    async def finish(self, parts: Sequence[str]) -> None:
        """Have the service remember which parts are in it whole, if there is anything new in it yet."""
        if self._exists:
            body = FinishedParts(parts=list(parts))
            await self._send(f"/v1/collections/{self.name}/finished", body, Collection, method="PUT")

    async def publish(self, check: Callable[[Built], None] = lambda _: None) -> bool:
        """Let readers see it, remember the version they saw until now, and drop what is older.

        False where there is nothing new to see. Its index is built first, which may take hours; what `check`
        raises then leaves readers what they have.
        """
        if not self._exists:
            return False
        check(await self._wait_until_built())
        if self._published:
            await point(self._service, self._alias + PREVIOUS, self._published, self._patience)
        await point(self._service, self._alias, self.name, self._patience)
        for each in await self._list():
            ours = each.name.startswith(f"{self._alias}-") and not each.aliases
            if ours and each.name != self._published:
                with suppress(DependencyUnavailable):  # another ingestion has it built now
                    await self._drop(each.name)
        return True

    async def abandon(self) -> None:
        """Drop the version, where there is one, that nothing came to be in."""
        if self._exists:
            await self._drop(self.name)

    async def _wait_until_built(self) -> Built:
        path, body = f"/v1/collections/{self.name}/build", BuildIndex()
        until = self._patience.clock() + BUILT_WITHIN_S
        while not (built := await self._send(path, body, Built, LONG_CALL_MS)).ready:
            if self._patience.clock() > until:
                raise DependencyUnavailable(
                    f"The index is not built after {BUILT_WITHIN_S / 3600:.0f} hours; readers keep the one"
                    " that they have. Look at what the vector server says of the version."
                )
            await self._patience.pause(BUILDING_S)
        return built

    async def _list(self) -> list[Collection]:
        return await list_versions(self._service, self._patience)

    async def _drop(self, name: str) -> None:
        try:
            await self._patience.call(
                lambda: self._service.delete(
                    f"/v1/collections/{name}", Collections, Deadline.after_ms(CALL_MS)
                )
            )
        except CollectionNotFound:
            return  # a repeated call, or another ingestion, was there first
