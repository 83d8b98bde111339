"""Python client of a Loreglass gateway; see README.md.

Errors are in `loreglass_client.errors`, replies in `loreglass_client.models`.
"""

from loreglass_client.blocking import Conversation, Loreglass
from loreglass_client.calls import Retries
from loreglass_client.client import AsyncConversation, AsyncLoreglass
from loreglass_client.errors import LoreglassError
from loreglass_client.models import Answer, Citation

__all__ = [
    "Answer",
    "AsyncConversation",
    "AsyncLoreglass",
    "Citation",
    "Conversation",
    "Loreglass",
    "LoreglassError",
    "Retries",
]
