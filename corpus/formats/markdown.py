"""Markdown: CommonMark with tables, footnotes, wiki links and front matter, read by way of HTML."""

import re

import yaml
from lxml.html import HtmlElement, fragment_fromstring
from markdown_it import MarkdownIt

from corpus.encoding import decode_page
from corpus.inline import spell_out
from corpus.pages import BlockKind, NoContent, Page
from corpus.values import moment, web_url
from corpus.visible import clean_line, visible_blocks

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,8192}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_NOTE_MARK = re.compile(r"\[\^[^\[\]\s]{1,40}\](?!:)")
_NOTE_TEXT = re.compile(r"^\[\^[^\[\]\s]{1,40}\]:[ \t]*(.*)$", re.MULTILINE)
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]{1,200}\|)?([^\[\]|]{1,200})\]\]")
_MOST_CHARS = 2**21
"""A hostile page takes the parser up to 30 seconds a million."""
_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def read_markdown(content: bytes) -> Page:
    """Read a Markdown file. Raises `NoContent`."""
    text = decode_page(content)
    if len(text) > _MOST_CHARS:
        raise NoContent(f"The page is too long. Markdown may have {_MOST_CHARS:,} characters.")
    tree, front_matter = _tree(text)
    spell_out(tree)
    blocks = tuple(visible_blocks(tree))
    heading = next((block.lines[0] for block in blocks if block.kind is BlockKind.HEADING), "")
    dates = map(moment, filter(None, map(front_matter.get, ("last_modified", "updated", "date"))))
    title = clean_line(front_matter.get("title", ""))[:300]
    url = web_url(front_matter.get("url", ""))
    return Page(url, title or heading, blocks, next(filter(None, dates), None))


def _tree(text: str) -> tuple[HtmlElement, dict[str, str]]:
    """Return the page as HTML, and the fields of its front matter."""
    text = text.replace("\r\n", "\n")
    fields: dict[str, str] = {}
    if match := _FRONT_MATTER.match(text):
        fields = _front_matter(match[1])
        text = text[match.end() :] if fields else text
    text = _NOTE_TEXT.sub(r"\n\1\n", _NOTE_MARK.sub("", _WIKI_LINK.sub(r"\1", text)))
    return fragment_fromstring(_PARSER.render(text).replace("\x00", ""), create_parent="article"), fields


def _front_matter(text: str) -> dict[str, str]:
    """Return the fields with a single value, as written; none if the text is not a YAML mapping."""
    try:
        # Scalars stay text, and lists are left out: a few nested aliases could stand for gigabytes.
        fields = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {key: value for key, value in fields.items() if isinstance(key, str) and isinstance(value, str)}
