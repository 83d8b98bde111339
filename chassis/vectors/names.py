"""Which names a collection or an alias may have."""

import re

from chassis.errors import InvalidRequest
from contracts.collections import COLLECTION_NAME

_NAME = re.compile(COLLECTION_NAME)


def require_collection_name(name: str) -> None:
    """Names become folder names. Raises `InvalidRequest`."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest("A collection's name is a-z, 0-9, _ and -, at most 63 characters.")
