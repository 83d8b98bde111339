"""Which names a collection, an alias or a point may have: they become folder names and parts of URLs."""

import re
import uuid

from chassis.errors import CollectionNotFound, InvalidRequest
from contracts.collections import COLLECTION_NAME

_NAME = re.compile(COLLECTION_NAME)


def is_collection_name(name: str) -> bool:
    """Whether a collection could have this name."""
    return _NAME.fullmatch(name) is not None


def require_collection_name(name: str) -> None:
    """For names that are to be made. Raises `InvalidRequest`."""
    if not is_collection_name(name):
        raise InvalidRequest("A collection's name is a-z, 0-9, _ and -, at most 63 characters.")


def not_found(name: str) -> CollectionNotFound:
    """For names that are to be read. An odd name is not repeated to the caller."""
    return CollectionNotFound(
        f"There is no collection {name!r}." if is_collection_name(name) else "There is no such collection."
    )


def is_point_id(value: str) -> bool:
    """Whether this is a UUID in canonical form (32 lower-case hex digits with four hyphens)."""
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False
