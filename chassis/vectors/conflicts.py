"""Collections that were made for something else than what wants to use them now."""

from chassis.errors import CollectionConflict
from chassis.vectors.port import CollectionSchema


def require_schema(held: CollectionSchema, wanted: CollectionSchema, *, whole: bool = True) -> None:
    """Refuse a collection that another engine or another model has made. Raises `CollectionConflict`.

    Not `whole`: the collection may hold other vectors as well.
    """
    if held == wanted or (not whole and _holds(held, wanted)):
        return
    if held.encoder == wanted.encoder:
        raise CollectionConflict("The collection was made for another engine; index it anew.")
    raise CollectionConflict(
        f"The collection was made with {held.encoder or 'no model'}, this service runs"
        f" {wanted.encoder or 'without a model'}; index it anew."
    )


def _holds(held: CollectionSchema, wanted: CollectionSchema) -> bool:
    same_model = held.encoder == wanted.encoder or not wanted.dense
    return (
        same_model
        and wanted.dense.items() <= held.dense.items()
        and set(wanted.sparse) <= set(held.sparse)
        and set(wanted.idf) == set(held.idf) & set(wanted.sparse)
    )
