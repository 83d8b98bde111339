"""Put untrusted text into a prompt so that it stays text: delimited, numbered, within a budget.

A page can print a closing delimiter or a model's control tokens ("<|eot_id|>"), which the server's tokenizer
would take for the real ones; both are broken up. The citation check works on the original text.

The budget in tokens is an upper bound without any model's vocabulary. Byte-level BPE (Llama 3, Qwen 2.5 and
3) never writes more tokens than bytes. Small letters cost less: it merges neighbours as long as they make a
token, and nearly every pair of small letters, and a space with any of them, is one in these vocabularies. So
no two single ones stay neighbours, and a run of n takes (2n + 1) // 3 tokens at most. `UNMERGED` are the
other pairs. Tests hold both against the vocabularies.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.answer import CitationKind
from gateway.reasoning.pieces import whole_sentences
from gateway.state import Evidence
from language.words import visible

_RUN = re.compile(r" ?[a-z]+")
UNMERGED = re.compile(
    "b(?=q)|f(?=[jz])|g(?=[jkq])|h(?=j)|j(?=[gvwxyz])|k(?=[qxz])|l(?=q)|m(?=z)|n(?=q)|o(?=q)|q(?=[fgjkoyz])"
    "|r(?=j)|t(?=[jq])|u(?=q)|v(?=[qz])|w(?=[qvz])|x(?=[ghjkquvw])|y(?=[fjqv])|z(?=[gjqrv])"
)
OURS_A_TOKEN = 3
"""Characters of our own prompts, which are plain English, to a token, at least; tests count them."""


def tokens_at_most(text: str) -> int:
    """Return an upper bound on its tokens. Qwen reads it normalised (NFC), which may make it longer."""
    size = len(text.encode("utf-8", "replace"))
    if not text.isascii():
        size = max(size, len(unicodedata.normalize("NFC", text).encode("utf-8", "replace")))
    runs = (len(run) for run in _RUN.findall(text) if not UNMERGED.search(run))
    return size - sum(length - (2 * length + 1) // 3 for length in runs)


def within_tokens(text: str, most: int) -> str:
    """Return as much of the beginning as is that many tokens or fewer."""
    if tokens_at_most(text) <= most:
        return text
    places = range(1, min(len(text), 3 * max(most, 0) // 2 + 2) + 1)
    return text[: bisect_right(places, most, key=lambda end: tokens_at_most(text[:end]))]


def ours(*texts: str) -> int:
    """Return the tokens of words that we wrote, at most."""
    return -(-sum(map(len, texts)) // OURS_A_TOKEN)


CLOSE = "<<<end>>>"
NO_EVIDENCE = "Evidence: none was found."
MATERIAL_TOKENS = 900
"""The most that a block of anything but evidence takes: some 1,200 characters of English, 300 of Chinese."""
_EVIDENCE = "Evidence:\n"
_ALL = 2**31
_TOKEN_START = re.compile(r"<(?=[^\s\d=])")
_TOKEN_END = re.compile(r"(?<=[^\s\d=-])>")
_BRACKETED = re.compile(
    r"\[(?=[^\[\]]{1,40}\])(\s*/?\s*(?:(?i:inst|sys|tool|img|think)\w*|\w*(?:[A-Z]{2}|_)\w*)\s*)\]"
)
"""Control tokens in square brackets: [INST], [/INST], [gMASK], [TOOL_CALLS]. [NASA] looks like one."""
_PIECE = re.compile(r"<<<(piece (\d+), [^\n]*)>>>\n(.*?)\n<<<end>>>", re.DOTALL)
_KINDS = {
    CitationKind.PHOTO: "print in the photo",
    CitationKind.IMAGE: "record",
    CitationKind.PAGE: "page",
    CitationKind.WEB: "page of the open web",
    CitationKind.MEMORY: "what the user saw before",
}


@dataclass(frozen=True, slots=True)
class EvidenceBlocks:
    """Evidence as shown. `places[n - 1]`: the index of piece `n` in the evidence it was made from."""

    text: str
    places: tuple[int, ...] = ()

    def indices(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the evidence that the model cites, each once; numbers of no piece are dropped."""
        places = (self.places[number - 1] for number in numbers if 1 <= number <= len(self.places))
        return tuple(dict.fromkeys(places))


def harmless(text: str) -> str:
    """Return the text without hidden characters, control tokens of a model, and delimiters."""
    plain = _TOKEN_END.sub("›", _TOKEN_START.sub("‹", visible(text)))
    return _BRACKETED.sub(r"(\1)", plain)


def fence(title: str, text: str, most_tokens: int = MATERIAL_TOKENS) -> str:
    """One block between delimiters, of which `text` and `title` can close none; `most_tokens` of `text`."""
    return _between(_start_of(title), within_tokens(harmless(text).strip(), most_tokens))


def _start_of(title: str) -> str:
    return f"<<<{' '.join(harmless(title).split())}>>>"


def _between(heading: str, text: str) -> str:
    return f"{heading}\n{text}\n{CLOSE}"


def evidence_blocks(
    evidence: Sequence[Evidence], tokens: int, most_chars: int = _ALL, piece_chars: int = _ALL
) -> EvidenceBlocks:
    """Return the pieces in order, as many as fit, each cut at a sentence.

    `tokens`: the most that all may take, headings and delimiters included, by `tokens_at_most`.
    `most_chars`, `piece_chars`: the most characters in all, and of one piece.
    """
    blocks: list[str] = []
    places: list[int] = []
    left, tokens = most_chars, tokens - tokens_at_most(_EVIDENCE)
    for index, item in enumerate(evidence):
        heading = _start_of(_heading(len(places) + 1, item))
        room = tokens - tokens_at_most(_between(heading, "")) - 1  # and a line feed
        text = _cut(item.text, min(piece_chars, left), room)
        if not text:
            continue
        left -= len(text)
        tokens = room - tokens_at_most(text)
        places.append(index)
        blocks.append(_between(heading, text))
    if not blocks:
        return EvidenceBlocks(NO_EVIDENCE)
    return EvidenceBlocks(_EVIDENCE + "\n".join(blocks), tuple(places))


def pieces_in(text: str) -> dict[int, str]:
    """The pieces in a text that `evidence_blocks` wrote, by number, with headings and without delimiters."""
    return {int(number): f"{heading}\n{body}" for heading, number, body in _PIECE.findall(text)}


def _cut(text: str, chars: int, tokens: int) -> str:
    """Return whole sentences of the text, made harmless, within both limits."""
    plain = harmless(whole_sentences(text, chars)).strip()
    fits = len(within_tokens(plain, tokens))
    return plain if fits == len(plain) else whole_sentences(plain, fits)


def _heading(number: int, item: Evidence) -> str:
    changed = f", of {item.last_modified.date().isoformat()}" if item.last_modified else ""
    title = f": {item.title[:100]}" if item.title and item.kind is not CitationKind.PHOTO else ""
    return f"piece {number}, {_KINDS[item.kind]}{changed}{title}"
