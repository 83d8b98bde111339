"""The form of Wiki-PRF's tagged replies, strictly: what the reward checks (eqs. 12 and 13, appendix B).

Serving reads leniently instead (`lenient.py`). Time is linear in the text; nothing here raises.
"""

import re

from gateway.pipelines.wiki_prf.tool_plan import PhotoTool, ToolCall
from language.words import visible

MOST_CALLS = 8
"""Plans of the paper's 7B model have 3.6 calls in the mean (Table 3)."""
CONTENT_CHARS = 300
"""The longest content of a call."""

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,40}>")
_LINE = re.compile(r"[ \t]*[0-9]{1,2}[.)][ \t]*([A-Za-z]{1,12})[ \t]*(?::[ \t]*(.*))?")
_SAYS_NOTHING = re.compile(r"[\W_]*")


def plan_in_form(text: str) -> tuple[ToolCall, ...] | None:
    """The calls of `<think>…</think><tool>…</tool>`, at most `MOST_CALLS`; None unless every line is one."""
    lines = [line for line in (_tagged(text, "tool") or "").splitlines() if line.strip()]
    calls = [_call(line) for line in lines[: MOST_CALLS + 1]]
    kept = tuple(call for call in calls if call is not None)
    return kept if kept and len(kept) == len(lines) <= MOST_CALLS else None


def knowledge_in_form(text: str) -> str | None:
    """What `<think>…</think><answer>…</answer>` has for an answer; None for any other form."""
    return _tagged(text, "answer")


def _tagged(text: str, name: str) -> str | None:
    """Thoughts in their tags, then this pair, and no other tag; anything but a tag may follow it."""
    found = [(match.group(), match.start(), match.end()) for match in _TAG.finditer(text)]
    if [tag for tag, _, _ in found] != ["<think>", "</think>", f"<{name}>", f"</{name}>"]:
        return None
    (_, first, _), (_, _, thought), (_, begins, inside), (_, ends, _) = found
    if (text[:first] + text[thought:begins]).strip():
        return None
    return text[inside:ends].strip() or None


def _call(line: str) -> ToolCall | None:
    """`n. caption: …`, `n. grounding: …` or `n. flip`, in any case of letters; None if it is none of them."""
    found = _LINE.fullmatch(line.rstrip())
    name = found.group(1).lower() if found else ""
    if found is None or name not in set(PhotoTool):
        return None
    return call_of(PhotoTool(name), (found.group(2) or "").strip())


def call_of(tool: PhotoTool, content: str) -> ToolCall | None:
    """The call with this content in one plain line; None where it says nothing or is too long."""
    if tool is PhotoTool.FLIP:
        return ToolCall(tool)
    plain = " ".join(visible(content).split())
    if len(content) > CONTENT_CHARS or _SAYS_NOTHING.fullmatch(plain):
        return None
    return ToolCall(tool, plain)
