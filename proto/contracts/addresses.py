"""Where a source is: what may stand in a citation as its address."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

_ADDRESS = re.compile(r"(?i)(?:https?://[^/\s]|file:)[^\x00-\x1f\x7f]*")


def is_source_address(text: str) -> bool:
    """Whether it is a web address, or the name of a file that an operator indexed (`file:salt.html`).

    What a browser would run (`javascript:`, `data:`) is none, nor what nobody can take apart (`http://[x`).
    """
    return _ADDRESS.fullmatch(text) is not None and host_of(text) is not None


def host_of(address: str) -> str | None:
    """In lower case, empty where it has none; None where it is no address."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return None


def _require_address(text: str) -> str:
    if not is_source_address(text):
        raise ValueError("must be an http://, https:// or file: address")
    return text


SourceAddress = Annotated[str, Field(max_length=4_096), AfterValidator(_require_address)]
SourceAddressOrNone = Annotated[
    str, Field(max_length=4_096), AfterValidator(lambda text: text and _require_address(text))
]
"""Empty: it has none."""
