"""Recognise bot checks, pages that scripts fill, and pages that say they do not exist."""

import re
from collections.abc import Iterable, Mapping, Sequence

from corpus.pages import Block, BlockKind

_MOST_CHARS = 1_500
"""A page with more text than this is an article, whatever its title is."""
_SHELL_CHARS = 200
_PARTS = re.compile(r"\s+[|–—»·-]\s+")
_BOT_CHECK, _MISSING = "The page is a bot check of its site.", "The page says that it does not exist (404)."
_ERROR, _MOVED = "The page is an error of its site.", "The page only leads to another one."
_SHELL = "The page shows its text only by scripts."
_ADVICE = "Save the page from a browser."
_NAMES = {
    re.compile(
        r"just a (?:moment|second)|attention required|ddos.guard|pardon our interruption|one more step"
        r"|(?:security|human|bot|robot) (?:check|verification)|checking your browser\b.{0,80}"
        r"|(?:please )?(?:are you|(?:verify(?:ing)?|confirm) (?:that )?you are) (?:not )?(?:a )?"
        r"(?:human|robot|bot).{0,9}"
        r"|(?:error )?403:? forbidden|access (?:to this page has been )?denied"
        r"|sorry, you have been blocked|you have been blocked"
    ): _BOT_CHECK,
    re.compile(
        r"(?:error )?4(?:04|10)(?:[ :–-]+\(?(?:error|gone|(?:page |file )?not found)[)!1]*)?|not found"
        r"|(?:the |this |that )?(?:requested )?page (?:you (?:requested|(?:are|were) looking for) )?"
        r"(?:was not|wasn.t|could not be|couldn.t be|cannot be|can.t be|not) found\b.{0,20}"
        r"|(?:sorry|oops|whoops)\b.{0,40}\b(?:page|404)\b.{0,60}"
        r"|we (?:can.t|couldn.t|cannot) find (?:that|this|the) page"
        r"|(?:sorry, )?(?:this |the )?page (?:does not|doesn.t|isn.t|is not) (?:exist|available)\b.{0,20}"
        r"|(?:die )?seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)|página no encontrada"
        r"|pagina non trovata|página não encontrada|pagina niet gevonden"
        r"|sidan (?:hittades inte|kunde inte hittas)"
        r"|strona nie (?:została )?znaleziona"
        r"|страница не найдена|ページが見つかりません|页面不存在|找不到页面"
    ): _MISSING,
    re.compile(
        r"(?:http |error )?[45]\d\d[ :–-]+(?:[a-z]+ ?){1,4}|bad gateway|internal server error"
        r"|too many requests|service (?:temporarily )?unavailable|gateway time-?out"
        r"|this site can.t be reached"
    ): _ERROR,
    re.compile(r"(?:30[1278] )?moved (?:permanently|temporarily)|302 found|redirecting|object moved"): _MOVED,
}
"""Titles and headings of such pages, whole."""
_TEXTS = {
    re.compile(
        r"(?:loading|please wait|one moment)(?:[ ,.…]+(?:please|wait|page|content|app|data|your \w+))*"
        r"|.{0,60}\b(?:enable|turn|turn on|allow|activate|requires?|needs?|not support)"
        r" (?:your )?(?:javascript|scripts)\b.{0,90}"
        r"|(?:please )?(?:turn )?javascript (?:is (?:disabled|required|off)|on\b|must be).{0,90}"
    ): _SHELL,
    re.compile(
        r"redirecting\b.{0,60}|if you are not redirected\b.{0,90}|you are being redirected\b.{0,60}"
    ): _MOVED,
    re.compile(
        r".{0,40}\b(?:complete the captcha|make sure you.re not a robot|press (?:&|and) hold)\b.{0,120}"
    ): _BOT_CHECK,
}
"""All the text that such a page has."""


def reason_none(titles: Sequence[str], blocks: Sequence[Block]) -> str:
    """Return why a page with these titles has no content of its own; empty if it has."""
    names = [*titles, *(block.lines[0] for block in blocks if block.kind is BlockKind.HEADING)][:5]
    text = " ".join(line for block in blocks if block.kind is not BlockKind.HEADING for line in block.lines)
    reason = _match(_NAMES, [part for name in names for part in (name, *_PARTS.split(name))])
    if reason and len(text) <= _MOST_CHARS:
        return f"{reason} {_ADVICE}"
    reason = _match(_TEXTS, [text])
    return f"{reason} {_ADVICE}" if reason and len(text) <= _SHELL_CHARS else ""


def _match(kinds: Mapping[re.Pattern[str], str], texts: Iterable[str]) -> str:
    bare = [text.casefold().strip(" .…!:–-|") for text in texts]
    return next((reason for kind, reason in kinds.items() if any(map(kind.fullmatch, bare))), "")
