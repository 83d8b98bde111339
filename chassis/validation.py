"""What pydantic refused, in words for whoever wrote it."""

from collections.abc import Iterable

from pydantic import ValidationError

_PLAIN = {"missing": "must be given", "extra_forbidden": "there is no such field"}
"""In place of what pydantic says, which speaks of fields and inputs."""


def first_fault(error: ValidationError) -> str:
    """The first entry that is wrong, and why: "image.base64: must be given". Quotes nothing of the input."""
    first = error.errors(include_url=False, include_input=False)[0]
    return fault(first["loc"], first["type"], first["msg"])


def fault(entry: Iterable[object], kind: str, message: str) -> str:
    """The same for one of pydantic's errors: where it is, of which type, and its message."""
    where = ".".join(str(part) for part in entry)[:80]
    what = _PLAIN.get(kind) or message.removeprefix("Value error, ")
    return f"{where}: {what}" if where else what
