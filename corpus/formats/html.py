"""HTML and MHTML: the main part of a page; bot checks, empty shells and missing pages are refused."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import webencodings
from lxml.etree import ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from corpus.formats.tables import mark_evident_names
from corpus.formats.text import decode_page
from corpus.inline import spell_out
from corpus.main_part import main_part
from corpus.markup import remove_elements
from corpus.pages import Block, BlockKind, NoContent, Page
from corpus.values import moment, web_url
from corpus.visible import clean_line, make_block, visible_blocks

_NEVER_TEXT = ("script", "style", "noscript", "template", "svg", "iframe", "object")
_MOST_JSON = 2**18
_MOST_FACTS = 40
_TITLE_MARK = re.compile(r"\s+[|–—»·-]\s+")
_CONTENT_HEADINGS = (
    "//*[self::h1 or self::h2 or self::h3]"
    "[not(ancestor::nav or ancestor::footer or ancestor::aside)]"
    "[not(ancestor::header) or ancestor::main or ancestor::article]"
)
_MODIFIED = (
    '//meta[@property="article:modified_time" or @property="og:updated_time"]/@content',
    '//meta[@http-equiv="last-modified" or @name="last-modified"]/@content',
    '//meta[@property="article:published_time"]/@content',
)


_MOST_CHARS = 1_500
"""A page with more text than this is an article, whatever its title is."""
_SHELL_CHARS = 200
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


def read_html(content: bytes) -> Page:
    """Read a web page. Raises `NoContent`."""
    tree = parse_html(decode_page(content))
    title, full_title = _title(tree), "".join(_texts(tree.iter("title"))[:1])
    canonical = web_url(_first(tree, '//link[@rel="canonical"]/@href'))
    modified, described = _modified(tree), _description(tree)
    remove_elements(tree, list(tree.iter(*_NEVER_TEXT)))
    whole = _chars(tree.iterchildren("body"))
    spell_out(tree)
    mark_evident_names(tree)
    main = main_part(tree)
    blocks = tuple(visible_blocks(main))
    if reason := _reason_none((title, full_title), blocks):
        raise NoContent(reason)
    if not any(block.kind is not BlockKind.HEADING for block in blocks):
        return Page(canonical, title, described, modified)
    left_out = max(0.0, 1 - _chars([main]) / whole) if whole else 0.0
    return Page(canonical, title, blocks, modified, round(left_out, 2))


def read_web_archive(content: bytes) -> Page:
    """Read the page of the archive. Raises `NoContent`."""
    message = message_from_bytes(content, policy=policy.default.clone(max_line_length=0))
    page = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    body = page.get_payload(decode=True) if isinstance(page, EmailMessage) else None
    if not isinstance(body, bytes) or page is None:
        raise NoContent("There is no web page in the file. Save the page as MHTML or HTML again.")
    charset = webencodings.lookup(page.get_content_charset() or "")
    if charset is not None:
        text, _ = webencodings.decode(body, charset)
        body = text.encode("utf-8-sig")
    read = read_html(body)
    addresses = (page.get("Content-Location"), message.get("Snapshot-Content-Location"))
    address = next(filter(None, (web_url(str(each)) for each in addresses if each)), "")
    return Page(read.url or address, read.title, read.blocks, read.last_modified)


def parse_html(text: str) -> HtmlElement:
    """Return the page as a tree. Raises `NoContent`."""
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(text.encode("utf-8", "replace").replace(b"\0", b""), parser)
    except (ParserError, ValueError) as error:
        raise NoContent("There is no text in the page.") from error


def _chars(elements: Iterable[HtmlElement]) -> int:
    return sum(len("".join(each.text_content().split())) for each in elements)


def _first(tree: HtmlElement, path: str) -> str:
    matches = tree.xpath(path)
    return str(matches[0]) if isinstance(matches, list) and matches else ""


def _title(tree: HtmlElement) -> str:
    """The page's own name, not its site's.

    `<title>` without the site's name, where a heading of the content says the same: many sites have their own
    name as the only first-level heading of every page, and the chapter's below it. Else the only first-level
    heading; else what is shared as the title, or `<title>`.
    """
    content = _texts(tree.xpath(_CONTENT_HEADINGS))
    first_level = [each for each in _texts(tree.iter("h1")) if each]
    above = {_bare(each) for each in first_level} - {_bare(each) for each in content}
    parts = _TITLE_MARK.split("".join(_texts(tree.iter("title"))[:1]))
    name = next((part for part in parts if _bare(part) not in above), "")
    if name and _bare(name) in {_bare(each) for each in content}:
        return name[:300]
    if len(first_level) == 1:
        return first_level[0][:300]
    return (clean_line(_first(tree, '//meta[@property="og:title"]/@content')) or parts[0])[:300]


def _texts(elements: Iterable[HtmlElement]) -> list[str]:
    return [clean_line("".join(each.itertext())) for each in elements]


def _bare(heading: str) -> str:
    """Without case and without the sign that links to it."""
    return heading.casefold().rstrip("#¶ ")


def _modified(tree: HtmlElement) -> datetime | None:
    for path in _MODIFIED:
        changed_at = moment(_first(tree, path))
        if changed_at is not None:
            return changed_at
    return None


def _description(tree: HtmlElement) -> tuple[Block, ...]:
    """Return its description and the facts of JSON-LD."""
    described = tree.xpath('//meta[@name="description" or @property="og:description"]/@content')
    lines = [clean_line(str(each)) for each in described]
    for script in tree.xpath('//script[@type="application/ld+json"]'):
        text = script.text or ""
        try:
            lines += _facts(json.loads(text) if len(text) < _MOST_JSON else None)
        except (ValueError, RecursionError):
            continue
    return tuple(make_block(BlockKind.LIST, list(dict.fromkeys(lines))[:_MOST_FACTS]))


def _facts(value: Any) -> Iterator[str]:
    """Yield the plain values of JSON-LD's first object: "founding date: 1936"."""
    record = value[0] if isinstance(value, list) and value else value
    for key, fact in record.items() if isinstance(record, dict) else ():
        if isinstance(fact, str | int | float) and not key.startswith("@") and "://" not in str(fact):
            yield f"{re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', key).casefold()}: {clean_line(str(fact))[:2000]}"


def _reason_none(titles: Sequence[str], blocks: Sequence[Block]) -> str:
    """Return why a page with these titles has no content of its own; empty if it has."""
    names = [*titles, *(block.lines[0] for block in blocks if block.kind is BlockKind.HEADING)][:5]
    text = " ".join(line for block in blocks if block.kind is not BlockKind.HEADING for line in block.lines)
    reason = _match(_NAMES, [part for name in names for part in (name, *_TITLE_MARK.split(name))])
    if reason and len(text) <= _MOST_CHARS:
        return f"{reason} {_ADVICE}"
    reason = _match(_TEXTS, [text])
    return f"{reason} {_ADVICE}" if reason and len(text) <= _SHELL_CHARS else ""


def _match(kinds: Mapping[re.Pattern[str], str], texts: Iterable[str]) -> str:
    bare = [text.casefold().strip(" .…!:–-|") for text in texts]
    return next((reason for kind, reason in kinds.items() if any(map(kind.fullmatch, bare))), "")
