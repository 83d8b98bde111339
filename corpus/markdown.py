"""Markdown (CommonMark with tables, notes and front matter) as the HTML that it stands for."""

import re
from typing import Any

import yaml
from lxml.html import HtmlElement, fragment_fromstring
from markdown_it import MarkdownIt

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,8192}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_NOTE = re.compile(r"\[\^[^\[\]\s]{1,40}\](?!:)")
_NOTE_TEXT = re.compile(r"^\[\^[^\[\]\s]{1,40}\]:[ \t]*(.*)$", re.MULTILINE)
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]{1,200}\|)?([^\[\]|]{1,200})\]\]")
_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def markdown_tree(text: str) -> tuple[HtmlElement, dict[str, Any]]:
    """Return the page as HTML, and what its front matter says."""
    text = text.replace("\r\n", "\n")
    about: dict[str, Any] = {}
    if found := _FRONT_MATTER.match(text):
        about = _front_matter(found[1])
        text = text[found.end() :] if about else text
    text = _NOTE_TEXT.sub(r"\n\1\n", _NOTE.sub("", _WIKI_LINK.sub(r"\1", text)))
    return fragment_fromstring(_PARSER.render(text).replace("\x00", ""), create_parent="article"), about


def _front_matter(text: str) -> dict[str, Any]:
    """Return its fields; none where it is not YAML of fields."""
    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return {str(key): value for key, value in read.items()} if isinstance(read, dict) else {}
