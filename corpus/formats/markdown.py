"""Markdown: CommonMark with tables, footnotes, wiki links and front matter, read by way of HTML."""

import json
import re
import tomllib
from datetime import date

import yaml
from lxml.html import HtmlElement, fragment_fromstring
from markdown_it import MarkdownIt

from corpus.formats.text import decode_page
from corpus.inline import spell_out
from corpus.pages import BlockKind, NoContent, Page
from corpus.values import moment, web_url
from corpus.visible import clean_line, visible_blocks

_FRONT_MATTER = re.compile(
    r"\A\s*(?:(?P<fence>---|\+\+\+)[ \t]*\n(?P<text>.{0,8192}?)"
    r"(?:(?<=\n)(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z))"
    r"|(?={\s*\"))",
    re.DOTALL,
)
_FIELD_LINES = re.compile(r"(?:[\w.-]+:(?:[ \t][^\n]*)?(?:\n|\Z)|[ \t#-][^\n]*(?:\n|\Z)|\n)*")
_FIELD = re.compile(r"^([\w.-]+):[ \t]+([^\n]+)$", re.MULTILINE)
_CODE = re.compile(
    r"(^[ \t]{0,3}(?:```|~~~)[^\n]*\n.*?(?:^[ \t]{0,3}(?:```|~~~)|\Z)|`[^`\n]+`)", re.DOTALL | re.MULTILINE
)
_REWRITTEN = (
    (re.compile(r"!?\[\[(?:[^\[\]|]{1,200}\|)?([^\[\]|]{1,200})\]\]"), r"\1"),  # links of wikis
    (re.compile(r"\[\^[^\[\]\s]{1,40}\](?!:)"), ""),  # marks of notes, and the notes
    (re.compile(r"^\[\^[^\[\]\s]{1,40}\]:[ \t]*(.*)$", re.MULTILINE), r"\n\1\n"),
    (re.compile(r"\^\[([^\[\]\n]{1,500})\]"), r" (\1)"),
    (re.compile(r"(?<=\w)\^([^\s^]{1,10})\^"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\w)])(?<!~)~([^\s~]{1,10})~(?!~)"), r"<sub>\1</sub>"),
    (
        re.compile(r"^(#{1,6}[ \t][^\n]{0,300}?)[ \t]{0,9}\{[#.][^{}\n]{0,99}\}[ \t]{0,9}$", re.MULTILINE),
        r"\1",
    ),
    (re.compile(r"^((?:>[ \t]*)+)\[!\w+\][+-]?", re.MULTILINE), r"\1"),  # kinds of notices
    (re.compile(r"^:{3,}[ \t]*(?:\w+|\{[^{}\n]*\})?", re.MULTILINE), "\n"),
    (re.compile(r"^(\w[^\n]{0,80})\n\n?:[ \t]+(?=\S)", re.MULTILINE), r"\n- \1: "),  # definitions
)
_UNCLOSED = re.compile(r"(?<!\\)\[(?=(?:[^\[\]]{0,200}\[){3})")
"""A bracket with three more inside: no link, but the parser would try each of them with all that follow."""
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
        front, end = _front_matter(text, match)
        fields, text = front or {}, text if front is None else text[end:]
    parts = _CODE.split(text)
    for pattern, replacement in _REWRITTEN:
        parts[::2] = [pattern.sub(replacement, part) for part in parts[::2]]
    parts[::2] = [_UNCLOSED.sub(r"\\[", part) for part in parts[::2]]
    text = "".join(parts)
    return fragment_fromstring(_PARSER.render(text).replace("\x00", ""), create_parent="article"), fields


def _front_matter(text: str, match: re.Match[str]) -> tuple[dict[str, str] | None, int]:
    """Return the fields with a single value (None: it is no front matter), and where the page begins."""
    end, content = match.end(), match["text"] or ""
    try:
        if match["fence"] is None:
            fields, end = json.JSONDecoder().raw_decode(text, end)
            fields = fields if text[end:].strip() else None
        elif match["fence"] == "+++":
            fields = tomllib.loads(content)
        else:
            # Scalars stay text, and lists are left out: a few nested aliases could stand for gigabytes.
            fields = yaml.load(content, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        is_yaml = match["fence"] == "---" and _FIELD_LINES.fullmatch(content)
        fields = dict(_FIELD.findall(content)) if is_yaml else None
    if not isinstance(fields, dict) and (content.strip() or match["fence"] is None):
        return None, end
    single = {key: str(value) for key, value in (fields or {}).items() if isinstance(value, str | date)}
    return {key: value for key, value in single.items() if isinstance(key, str)}, end
