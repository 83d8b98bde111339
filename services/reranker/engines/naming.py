"""Questions that say "this" to models that never see what "this" is."""


def with_entity(query: str, entity: str | None) -> str:
    """The query with the entity's name added, unless it is named there already."""
    if not entity or entity.casefold() in query.casefold():
        return query
    return f"{query} (about {entity})"
