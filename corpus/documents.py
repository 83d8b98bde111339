"""Documents of a published index: list, show, remove and rename. Each change makes a new version."""

from collections.abc import Sequence
from urllib.parse import urlencode

from chassis.errors import CollectionNotFound, NotFound
from chassis.http.calls import ServiceClient
from contracts.documents import LONGEST_LISTING, DocumentContent, Documents, RenameDocument
from corpus.versions import Patience, Version

NOTHING = Documents(version="", total=0, found=0, parts=0, documents=[])


class DocumentIndex:
    """The documents of one alias (`images`, `pages`). All methods raise `LoreglassError`."""

    def __init__(self, service: ServiceClient, alias: str, patience: Patience | None = None) -> None:
        self._service = service
        self._alias = alias
        self._patience = patience or Patience()

    async def find(
        self, letters: str = "", source: str = "", offset: int = 0, limit: int = LONGEST_LISTING
    ) -> Documents:
        """Return documents by name, with `letters` in name or address; none if nothing is published."""
        query = urlencode({"q": letters, "source": source, "offset": offset, "limit": limit})
        path = f"/v1/collections/{self._alias}/documents?{query}"
        try:
            return await self._patience.get(self._service, path, Documents)
        except CollectionNotFound:
            return NOTHING

    async def show(self, address: str) -> DocumentContent:
        """Return a document as it is searched. Raises `NotFound`."""
        path = f"/v1/collections/{self._alias}/document?{urlencode({'address': address})}"
        try:
            return await self._patience.get(self._service, path, DocumentContent)
        except CollectionNotFound:
            raise NotFound("The index holds no document with this address.") from None

    async def remove(self, addresses: Sequence[str] = (), source: str = "") -> list[str]:
        """Remove documents, or all of a source; the addresses of those that were there."""
        version = Version(self._service, self._alias, self._patience)
        wanted = sorted({*addresses})
        await version.open("\n".join(["remove", source, *wanted]), replace=False)
        if source:
            wanted = sorted({*wanted, *await version.documents(source)})
        present = sorted(await version.held(wanted))
        if present:
            await version.remove(present)
            await version.publish()
        return present

    async def rename(self, address: str, name: str) -> DocumentContent:
        """Change the title of a page, or the thing that a photo shows. Raises `NotFound`."""
        shown = await self.show(address)
        if shown.name == name:
            return shown
        version = Version(self._service, self._alias, self._patience)
        await version.open("\n".join(["rename", address, name]), replace=False)
        path = f"/v1/collections/{await version.ensure()}/documents/rename"
        body = RenameDocument(address=address, name=name)
        renamed = await self._patience.send(self._service, path, body, DocumentContent)
        await version.publish()
        return renamed
