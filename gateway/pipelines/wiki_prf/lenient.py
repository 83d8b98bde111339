"""Reads tool plans and filtered knowledge as models write them that were not trained for Wiki-PRF's form.

A plan may have a preamble, other tags or none, bullets, numbers or neither, other names of the tools, and
arguments in brackets or quotes. A call is one line that begins with a tool's name; thoughts hold none.
The strict form, which the reward checks, is in `tags.py`. Time is linear in the text; nothing here raises.
"""

import re

from gateway.pipelines.wiki_prf.tags import CONTENT_CHARS, MOST_CALLS, call_of, plan_in_form
from gateway.pipelines.wiki_prf.tool_plan import PhotoTool, ToolCall, ToolPlan
from language.words import visible

_THOUGHTS = re.compile(r"<(/?)(?:think|thinking|thought)>", re.IGNORECASE)
_TOOLS = re.compile(r"<(/?)(?:tools?|tool_calls?)>", re.IGNORECASE)
_ANSWER = re.compile(r"<(/?)answer>", re.IGNORECASE)

_MARKUP = re.compile(r"</?[A-Za-z|!_]{1,20}>|\*{2,}|`+")
_BULLET = r"(?:[-*+•–>#]{1,3} ?)?"
_NUMBER = r"(?:(?:step |tool )?[(\[]?[0-9]{1,2}[.):\]]{1,2} ?|tool: ?)?"
_NAMES = {
    PhotoTool.CAPTION: r"(?:image |photo )?(?:captioning|captions?|describe|description)",
    PhotoTool.GROUNDING: r"(?:visual |object )?(?:grounding|ground|locate|detection|detect)",
    PhotoTool.FLIP: r"(?:image |photo )?(?:flipping|flip|mirroring|mirror)",
}
_CALLS = {
    tool: re.compile(rf"{_BULLET}{_NUMBER}[\"']?{name}(?: tool)?[\"']?(?![^\W_])(.*)", re.IGNORECASE)
    for tool, name in _NAMES.items()
}
_ARGUMENT = re.compile(r" ?(?:(?:->|→|[:=–—-]) ?(.+)|([(\[{\"'“‘<].+))")
_HOW_TO_FLIP = re.compile(r"(?: ?\b(?:the|image|photo|picture|left|right|to|or|horizontally))*[ .()]*", re.I)
_KEYWORD = re.compile(r"[A-Za-z_]{1,20} ?= ?(?=[\"'“‘])")
_BRACKETS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "“": "”", "‘": "’", "<": ">"}
_MOST_BRACKETS = 3
_NOT_WANTED = re.compile(
    r"(?:none|no|n/a|skip|unnecessary|not (?:needed|necessary|required|used|applicable))\b.{0,40}", re.I
)


def read_plan(text: str) -> ToolPlan | None:
    """The calls of a plan, each once, in their order; None where nothing in it is a call."""
    lines = [line for line in _listed(_without_thoughts(text, _TOOLS)).splitlines() if line.strip()]
    found = [call for line in lines if (call := read_call(line)) is not None]
    calls = tuple(dict.fromkeys(found))[:MOST_CALLS]
    if not calls:
        return None
    return ToolPlan(calls, len(lines) - len(calls), in_form=plan_in_form(text) is not None)


def read_knowledge(text: str) -> str | None:
    """What the last pair of answer tags holds; None without one: what else is said may be no answer."""
    said = _without_thoughts(text, _ANSWER)
    marks = list(_ANSWER.finditer(said))[-2:]
    if [bool(mark.group(1)) for mark in marks] != [False, True]:
        return None
    return said[marks[0].end() : marks[1].start()].strip() or None


def read_call(line: str) -> ToolCall | None:
    """The call that a line is, however marked; None if it is prose, or says that a tool is not wanted."""
    plain = " ".join(_MARKUP.sub(" ", visible(line)).split())
    for tool, pattern in _CALLS.items():
        found = pattern.fullmatch(plain)
        if found is not None:
            return _with_argument(tool, found.group(1))
    return None


def _with_argument(tool: PhotoTool, rest: str) -> ToolCall | None:
    """`rest`: what follows the tool's name. Only a flip needs no argument."""
    found = _ARGUMENT.fullmatch(rest)
    if found is None:
        return ToolCall(tool) if tool is PhotoTool.FLIP and _HOW_TO_FLIP.fullmatch(rest) else None
    said = _unwrapped(found.group(1) or found.group(2))
    if _NOT_WANTED.fullmatch(said):
        return None
    if len(said) > CONTENT_CHARS:
        said = said[: CONTENT_CHARS + 1].rpartition(" ")[0] or said[:CONTENT_CHARS]
    return call_of(tool, said)


def _unwrapped(said: str) -> str:
    """Without the brackets and quotes that hold all of it, and a keyword before them."""
    for _ in range(_MOST_BRACKETS):
        said = _KEYWORD.sub("", said.strip(), count=1) if _KEYWORD.match(said.strip()) else said.strip()
        closing = _BRACKETS.get(said[:1])
        if closing is None or len(said) < 2 or not said.rstrip(".,;").endswith(closing):
            break
        said = said.rstrip(".,;")[1:-1]
    return said.strip()


def _without_thoughts(text: str, then: re.Pattern[str]) -> str:
    """What is said outside thoughts. One without an end ends where the tags of `then` begin."""
    kept: list[str] = []
    start, thinking = 0, False
    for mark in _THOUGHTS.finditer(text):
        if mark.group(1):
            if not thinking:  # it was opened in the prompt
                kept.clear()
            start, thinking = mark.end(), False
        elif not thinking:
            kept.append(text[start : mark.start()])
            start, thinking = mark.end(), True
    if thinking:
        begins = then.search(text, start)
        start = begins.start() if begins else len(text)
    return "\n".join((*kept, text[start:]))


def _listed(text: str) -> str:
    """What the tool tags hold, all of them; everything where there are none."""
    marks = list(_TOOLS.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    inside = [text[m.end() : end] for m, end in zip(marks, ends, strict=False) if not m.group(1)]
    return "\n".join(inside) if inside else text
