"""The closest passage of a refusal in words, for replies that are text: chats, devices and speech."""

from contracts.answer import Answer
from gateway.llm.cleaning import spoken
from gateway.reasoning.pieces import readable_excerpt
from gateway.steps.conclusion import CLOSEST_CHARS, Outcome

SPOKEN_CHARS = 160


def in_words(reply: Answer | Outcome, question: str = "", most_chars: int = CLOSEST_CHARS) -> str:
    """Return the passage as a sentence; empty if there is none.

    Of a passage longer than `most_chars`, the sentences that share most words with `question`. Other people
    wrote it, so markup and addresses are left out, as in an answer.
    """
    closest = reply.closest
    if closest is None:
        return ""
    said = spoken(readable_excerpt(closest.snippet, most_chars, question)).replace('"', "'")
    title = spoken(closest.title)
    return f'The closest I found: "{said}"' + (f" ({title})." if title else ".")
