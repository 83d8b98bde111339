"""Checks of collections, their names and point ids. They need pydantic, and the port must not."""

import re
import uuid
from dataclasses import replace

from chassis.errors import CollectionConflict, CollectionNotFound, InvalidRequest
from chassis.vectors.port import CollectionSchema
from contracts.collections import COLLECTION_NAME


def require_schema(actual: CollectionSchema, schema: CollectionSchema, *, whole: bool = True) -> None:
    """Refuse a collection that another engine or another model has made. Raises `CollectionConflict`.

    Not `whole`: the collection may hold other vectors as well.
    """
    if actual == schema or (not whole and _holds(actual, schema)):
        return
    if replace(actual, keywords=schema.keywords) == schema:
        raise CollectionConflict(
            "The index was made by an earlier release of Loreglass. Index everything again with --replace."
        )
    if actual.encoder == schema.encoder:
        raise CollectionConflict("The collection was made for another engine; index it anew.")
    raise CollectionConflict(
        f"The collection was made with {actual.encoder or 'no model'}, this service runs"
        f" {schema.encoder or 'without a model'}; index it anew."
    )


def _holds(actual: CollectionSchema, schema: CollectionSchema) -> bool:
    same_model = actual.encoder == schema.encoder or not schema.dense
    return (
        same_model
        and schema.dense.items() <= actual.dense.items()
        and set(schema.sparse) <= set(actual.sparse)
        and set(schema.idf) == set(actual.idf) & set(schema.sparse)
    )


def is_collection_name(name: str) -> bool:
    """Return whether a collection could have this name."""
    return re.fullmatch(COLLECTION_NAME, name) is not None


def require_collection_name(name: str) -> None:
    """Check the name of a new collection. Raises `InvalidRequest`."""
    if not is_collection_name(name):
        raise InvalidRequest("A collection's name is a-z, 0-9, _ and -, at most 63 characters.")


def not_found(name: str) -> CollectionNotFound:
    """Return the error for a missing collection. An invalid name is not repeated to the caller."""
    return CollectionNotFound(
        f"There is no collection {name!r}." if is_collection_name(name) else "There is no such collection."
    )


def is_point_id(value: str) -> bool:
    """Return whether this is a UUID in canonical form (32 lower-case hex digits with four hyphens)."""
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False
