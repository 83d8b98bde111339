"""Puts foreign text into a prompt so that it stays text: delimited, numbered, within a budget.

A page can print a closing delimiter or a model's control tokens ("<|eot_id|>"), which the server's tokenizer
would take for the real ones; both are broken up. The citation check works on the original text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.answer import CitationKind
from gateway.reasoning.pieces import whole_sentences
from gateway.state import Evidence
from language.words import visible

CLOSE = "<<<end>>>"
NO_EVIDENCE = "Evidence: none was found."
_TOKEN_START = re.compile(r"<(?=[^\s\d=])")
_TOKEN_END = re.compile(r"(?<=[^\s\d=-])>")
_INSTRUCTION = re.compile(r"\[(/?\s*(?:INST|SYS|TOOL|AVAILABLE_TOOLS|IMG|THINK)[A-Z_]*)\]", re.IGNORECASE)
_KINDS = {CitationKind.PHOTO: "print in the photo", CitationKind.IMAGE: "record", CitationKind.PAGE: "page"}


@dataclass(frozen=True, slots=True)
class Budget:
    """Characters of evidence a prompt may hold: in all, and of one piece (about four a token)."""

    total: int
    piece: int

    def at_most(self, total: int) -> "Budget":
        """No more than `total` in all."""
        return Budget(min(self.total, total), min(self.piece, total))

    @property
    def half(self) -> "Budget":
        """For a model that could not take it all."""
        return Budget(self.total // 2, self.piece // 2)


@dataclass(frozen=True, slots=True)
class EvidenceBlocks:
    """Evidence as shown. `places[n - 1]`: the index of piece `n` in the evidence it was made from."""

    text: str
    places: tuple[int, ...] = ()

    def indices(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The evidence that the model cites, each once; numbers of no piece are dropped."""
        known = (self.places[number - 1] for number in numbers if 1 <= number <= len(self.places))
        return tuple(dict.fromkeys(known))


def harmless(text: str) -> str:
    """The text without hidden characters, control tokens of a model, and delimiters."""
    plain = _TOKEN_END.sub("›", _TOKEN_START.sub("‹", visible(text)))
    return _INSTRUCTION.sub(r"(\1)", plain)


def delimited(title: str, text: str) -> str:
    """One block between delimiters, of which `text` and `title` can close none."""
    heading = " ".join(harmless(title).split())
    return f"<<<{heading}>>>\n{harmless(text).strip()}\n{CLOSE}"


def evidence_blocks(evidence: Sequence[Evidence], budget: Budget) -> EvidenceBlocks:
    """The pieces in order, as many as the budget holds, each cut at a sentence."""
    blocks: list[str] = []
    places: list[int] = []
    left = budget.total
    for index, item in enumerate(evidence):
        text = whole_sentences(item.text, min(budget.piece, left))
        if not text:
            continue
        left -= len(text)
        places.append(index)
        blocks.append(delimited(_heading(len(places), item), text))
    if not blocks:
        return EvidenceBlocks(NO_EVIDENCE)
    return EvidenceBlocks("Evidence:\n" + "\n".join(blocks), tuple(places))


def _heading(number: int, item: Evidence) -> str:
    changed = f", of {item.last_modified.date().isoformat()}" if item.last_modified else ""
    title = f": {item.title[:100]}" if item.title and item.kind is not CitationKind.PHOTO else ""
    return f"piece {number}, {_KINDS[item.kind]}{changed}{title}"
