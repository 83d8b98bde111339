"""Read multipart forms within limits, and refuse incomplete ones."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from fastapi import Request
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from chassis.errors import MalformedRequest, PayloadTooLarge

_LIMIT_MESSAGES = ("Too many", "exceeded maximum size")
"""In Starlette's messages about forms that are too large."""


class _Parser(MultiPartParser):
    """`ended`: whether the last boundary was received. Starlette drops an incomplete part silently."""

    ended = False

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        """Close all files, also that of an incomplete part."""
        for file in self._files_to_close_on_error:
            file.close()


@asynccontextmanager
async def read_form(
    request: Request, *, max_files: int, max_fields: int, max_part_size: int = 2**20
) -> AsyncIterator[FormData]:
    """Yield the form, and close its files afterwards. `max_part_size`: bytes of a text part.

    Raises `PayloadTooLarge`, or `MalformedRequest` if the form is invalid or incomplete.
    """
    async with aclosing(request.stream()) as stream:
        parser = _Parser(
            request.headers, stream, max_files=max_files, max_fields=max_fields, max_part_size=max_part_size
        )
        try:
            form = await parser.parse()
        except MultiPartException as error:
            if any(words in error.message for words in _LIMIT_MESSAGES):
                raise PayloadTooLarge("The form has too many parts, or one that is too long.") from error
            raise MalformedRequest("The form could not be read.") from error
    try:
        if not parser.ended:
            raise MalformedRequest("The form is incomplete: its last boundary is missing. Send it again.")
        yield form
    finally:
        parser.close()
