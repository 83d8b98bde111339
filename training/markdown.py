"""Markdown for people. Words of models and users are shown as code, so that nothing in them is markup."""

from collections.abc import Iterable, Sequence

from evaluation.reporting.formatting import LONG, shown


def quoted(text: str, limit: int = LONG) -> str:
    """Return the text as inline code on one line, cut at `limit` characters."""
    visible = shown(text, limit).replace("`", "'").replace("|", "¦")
    return f"`{visible}`" if visible else "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with an empty line behind; none if it has no rows."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return [*lines, ""] if len(lines) > 2 else []


def bullets(items: Iterable[str]) -> list[str]:
    """Return the lines of a list, with an empty line behind; none if it is empty."""
    lines = [f"- {item}" for item in items]
    return [*lines, ""] if lines else []
