"""Memory of what was seen: `GET` and `DELETE /v1/memory`."""

from datetime import datetime

from pydantic import Base64Bytes, Field

from contracts.message import Message

MEMORY_ID = r"^[A-Za-z0-9_-]{32}$"


class Sighting(Message):
    """One thing that was seen."""

    id: str = Field(description="For `DELETE /v1/memory/{id}`.")
    at: datetime = Field(description="When it was seen.")
    place: str = Field(description="Where, as the client said; empty if it did not.")
    name: str = Field(description="What was recognised; empty if nothing was.")
    text: str = Field(description="The text that was read in the photo.")
    thumbnail: Base64Bytes = Field(description="The photo as a small JPEG; may be empty.")


class MemoryReply(Message):
    """All that a memory holds, the oldest first. It is also the export."""

    days: int = Field(description="How many days each is kept.")
    sightings: list[Sighting] = Field(description="At most 200.")
