"""Reads replies that come in tags, strictly: what does not keep to its form is not guessed at.

Wiki-PRF's two forms: `<think>…</think><tool>…</tool>` and `<think>…</think><answer>…</answer>`. A server that
keeps thoughts to itself leaves the first part out. Time is linear in the text; nothing here raises.
"""

import re
from collections.abc import Iterator

from gateway.pipelines.wiki_prf.port import PhotoTool, ToolCall, ToolPlan
from language.words import visible

MOST_CALLS = 4
CONTENT_CHARS = 300
"""The longest content of a call."""

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,40}>")
_LINE = re.compile(r"[ \t]*[0-9]{1,2}[.)][ \t]*([A-Za-z]{1,12})[ \t]*(?::[ \t]*(.*))?")
_SAYS_NOTHING = re.compile(r"[\W_]*")


def tagged(text: str, name: str) -> str | None:
    """What stands between `<name>` and `</name>`, stripped; None unless that is the reply's form.

    The form: thoughts in one pair of tags or none, then this pair, and no other tag. White space may stand
    between them, anything after them: a reader of the stream stops there.
    """
    found = [(match.group(), match.start(), match.end()) for match in _TAG.finditer(text)]
    forms = (["<think>", "</think>", f"<{name}>", f"</{name}>"], [f"<{name}>", f"</{name}>"])
    spelled = [tag for tag, _, _ in found]
    if spelled not in forms:
        return None
    outside = text[: found[0][1]] + (text[found[1][2] : found[2][1]] if len(found) == 4 else "")
    if outside.strip():
        return None
    return text[found[-2][2] : found[-1][1]].strip() or None


def read_plan(text: str) -> ToolPlan | None:
    """The calls of a tool plan, each once; None if the form is not kept, or if no line of it is a call."""
    listed = tagged(text, "tool")
    if listed is None:
        return None
    lines = [line for line in listed.splitlines() if line.strip()]
    calls = list(dict.fromkeys(_calls(lines)))[:MOST_CALLS]
    return ToolPlan(tuple(calls), len(lines) - len(calls)) if calls else None


def _calls(lines: list[str]) -> Iterator[ToolCall]:
    for line in lines:
        call = read_call(line)
        if call is not None:
            yield call


def read_call(line: str) -> ToolCall | None:
    """`n. caption: …`, `n. grounding: …` or `n. flip`, in any case of letters; None if it is none of them."""
    found = _LINE.fullmatch(line.rstrip())
    name = found.group(1).lower() if found else ""
    if found is None or name not in set(PhotoTool):
        return None
    if PhotoTool(name) is PhotoTool.FLIP:
        return ToolCall(PhotoTool.FLIP)
    content = (found.group(2) or "").strip()
    plain = " ".join(visible(content).split())
    if len(content) > CONTENT_CHARS or _SAYS_NOTHING.fullmatch(plain):
        return None
    return ToolCall(PhotoTool(name), plain)
