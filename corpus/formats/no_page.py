"""Recognise bot checks, pages that scripts fill, and pages that say they do not exist."""

import re
from collections.abc import Sequence

from corpus.pages import Block, BlockKind

_MOST_CHARS = 1_500
"""A page with more text than this is an article, whatever its title is."""
_SHELL_CHARS = 80
_KINDS = {
    re.compile(
        r"just a moment\b.*|attention required\b.*|ddos.guard|security check|checking your browser\b.*"
        r"|(?:are you|verify(?:ing)? (?:that )?you are) (?:a )?(?:human|robot).*|one more step"
        r"|(?:human|bot|robot) (?:verification|check)|403 forbidden"
        r"|access (?:to this page has been )?denied\b.*"
    ): "The page is a bot check of its site. Save the page from a browser.",
    re.compile(
        r"(?:error )?404(?:[ :–-]+(?:error|(?:page |file )?not found))?|not found"
        r"|(?:the |this )?page (?:was |could )?not (?:be )?found\b.{0,20}"
        r"|(?:sorry|oops)\b.{0,40}\b(?:page|404)\b.{0,60}"
        r"|(?:this |the )?page (?:does not|doesn.t) exist\b.{0,20}"
    ): "The page says that it does not exist (404).",
}
_SHELL = re.compile(
    r"(?:loading|please wait|one moment)(?:[ ,.…]+(?:please|wait|page|content|app|data|your \w+))*"
    r"|(?:(?:please |you need to )?enable javascript|javascript is (?:disabled|required))\b.{0,70}"
)


def reason_none(titles: Sequence[str], blocks: Sequence[Block]) -> str:
    """Return why a page with these titles has no content of its own; empty if it has."""
    names = [block.lines[0] for block in blocks if block.kind is BlockKind.HEADING][:1]
    text = " ".join(line for block in blocks if block.kind is not BlockKind.HEADING for line in block.lines)
    if len(text) <= _MOST_CHARS:
        for name in (*titles, *names):
            for pattern, reason in _KINDS.items():
                if pattern.fullmatch(_bare(name)):
                    return reason
    if len(text) <= _SHELL_CHARS and _SHELL.fullmatch(_bare(text)):
        return "The page shows its text only by scripts. Save the page from a browser."
    return ""


def _bare(text: str) -> str:
    """Return the text in small letters, without the punctuation around it."""
    return text.casefold().strip(" .…!:–-|")
