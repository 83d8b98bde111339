"""Ask Loreglass about what you see, from a program; README.md shows how.

All that is raised is in `loreglass_client.errors`, all that is told in `loreglass_client.models`.
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
