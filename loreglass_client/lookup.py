"""Replies of `search` and `look_up`, typed and frozen."""

from loreglass_client.models import Body


class Passage(Body):
    """A passage of an indexed page, verbatim."""

    title: str
    url: str
    text: str


class Passages(Body):
    """Passages by falling relevance."""

    passages: list[Passage]


class Thing(Body):
    """A thing that an indexed photo shows, with what is known about it."""

    name: str
    url: str
    facts: dict[str, str]


class Things(Body):
    """Things; one of exactly the name looked for is first."""

    things: list[Thing]
