"""Multipart forms of requests, bounded, and whole or refused."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from fastapi import Request
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from chassis.errors import MalformedRequest, PayloadTooLarge

_TOO_MUCH = ("Too many", "exceeded maximum size")
"""What the parser says of forms that are beyond their bounds."""


class _Parser(MultiPartParser):
    """`ended`: whether the form's last boundary came; a part that broke off is not in the form."""

    ended = False

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        """Close all files, also that of a part which broke off."""
        for file in self._files_to_close_on_error:
            file.close()


@asynccontextmanager
async def read_form(
    request: Request, *, max_files: int, max_fields: int, max_part_size: int = 2**20
) -> AsyncIterator[FormData]:
    """Give the form, whose files are closed afterwards. `max_part_size`: bytes of a part that is no file.

    Raises `PayloadTooLarge`, and `MalformedRequest` also where the form ends before its last boundary.
    """
    async with aclosing(request.stream()) as stream:
        parser = _Parser(
            request.headers, stream, max_files=max_files, max_fields=max_fields, max_part_size=max_part_size
        )
        try:
            form = await parser.parse()
        except MultiPartException as error:
            if error.message.startswith(_TOO_MUCH[0]) or _TOO_MUCH[1] in error.message:
                raise PayloadTooLarge("The form has too many parts, or one that is too long.") from error
            raise MalformedRequest("The form could not be read.") from error
    try:
        if not parser.ended:
            raise MalformedRequest("The form ends in the middle of a part: its last boundary is missing.")
        yield form
    finally:
        parser.close()
