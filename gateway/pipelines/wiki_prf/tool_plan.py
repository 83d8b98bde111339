"""Tool plans and filtered knowledge of Wiki-PRF (section 3), in the strict form and as models write them.

The reward checks the strict form (eqs. 12 and 13, appendix B). Serving reads leniently: a plan may have a
preamble, other tags or none, bullets, numbers or neither, other names of the tools, and arguments in brackets
or quotes. A call is one line that begins with a tool's name; thoughts hold none. Time is linear in the text;
nothing here raises.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from gateway.llm.reading import whole_words
from gateway.reasoning.pieces import first_pieces, once
from gateway.state import Evidence
from language.words import visible


class PhotoTool(StrEnum):
    """Changes to the photo before an image search (3.2)."""

    CAPTION = "caption"
    GROUNDING = "grounding"
    FLIP = "flip"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`content`: the first caption, or the object to find; empty for a flip."""

    tool: PhotoTool
    content: str = ""


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """Calls in the order in which they are to be made.

    `written`: the model's own words, which filtering goes on from; empty where no model wrote any.
    """

    calls: tuple[ToolCall, ...] = ()
    written: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Evidence before filtering: the whole photo's best article (D) and the tools' sections (S)."""

    document: tuple[Evidence, ...] = ()
    sections: tuple[Evidence, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """D, then what S adds to it: what quotes are counted by."""
        return once((*self.document, *self.sections))

    def within(self, most_chars: int) -> "Material":
        """The first pieces of both, half of the characters for either; within either, each text once."""
        return Material(
            first_pieces(once(self.document), most_chars // 2),
            first_pieces(once(self.sections), most_chars // 2),
        )


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
    valid = tuple(call for call in calls if call is not None)
    return valid if valid and len(valid) == len(lines) <= MOST_CALLS else None


def knowledge_in_form(text: str) -> str | None:
    """Return what `<think>…</think><answer>…</answer>` has for an answer; None for any other form."""
    return _tagged(text, "answer")


def _tagged(text: str, name: str) -> str | None:
    """Thoughts in their tags, then this pair, and no other tag; anything but a tag may follow it."""
    tags = [(match.group(), match.start(), match.end()) for match in _TAG.finditer(text)]
    if [tag for tag, _, _ in tags] != ["<think>", "</think>", f"<{name}>", f"</{name}>"]:
        return None
    (_, first, _), (_, _, thought), (_, begins, inside), (_, ends, _) = tags
    if (text[:first] + text[thought:begins]).strip():
        return None
    return text[inside:ends].strip() or None


def _call(line: str) -> ToolCall | None:
    """`n. caption: …`, `n. grounding: …` or `n. flip`, in any case of letters; None if it is none of them."""
    match = _LINE.fullmatch(line.rstrip())
    name = match.group(1).lower() if match else ""
    if match is None or name not in set(PhotoTool):
        return None
    return call_of(PhotoTool(name), (match.group(2) or "").strip())


def call_of(tool: PhotoTool, content: str) -> ToolCall | None:
    """Return the call with this content in one plain line; None where it says nothing or is too long."""
    if tool is PhotoTool.FLIP:
        return ToolCall(tool)
    plain = " ".join(visible(content).split())
    if len(content) > CONTENT_CHARS or _SAYS_NOTHING.fullmatch(plain):
        return None
    return ToolCall(tool, plain)


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
    """Return the calls of a plan, each once, in their order; None where nothing in it is a call."""
    lines = _listed(_without_thoughts(text, _TOOLS)).splitlines()
    calls = dict.fromkeys(call for line in lines if (call := read_call(line)) is not None)
    return ToolPlan(tuple(calls)[:MOST_CALLS]) if calls else None


def read_knowledge(text: str) -> str | None:
    """Return the content of the last pair of answer tags; None without one."""
    words = _without_thoughts(text, _ANSWER)
    marks = list(_ANSWER.finditer(words))[-2:]
    if [bool(mark.group(1)) for mark in marks] != [False, True]:
        return None
    return words[marks[0].end() : marks[1].start()].strip() or None


def read_call(line: str) -> ToolCall | None:
    """The call that a line is, however marked; None if it is prose, or says that a tool is not wanted."""
    plain = " ".join(_MARKUP.sub(" ", visible(line)).split())
    for tool, pattern in _CALLS.items():
        match = pattern.fullmatch(plain)
        if match is not None:
            return _with_argument(tool, match.group(1))
    return None


def _with_argument(tool: PhotoTool, rest: str) -> ToolCall | None:
    """`rest`: what follows the tool's name. Only a flip needs no argument."""
    match = _ARGUMENT.fullmatch(rest)
    if match is None:
        return ToolCall(tool) if tool is PhotoTool.FLIP and _HOW_TO_FLIP.fullmatch(rest) else None
    argument = _unwrapped(match.group(1) or match.group(2))
    if _NOT_WANTED.fullmatch(argument):
        return None
    return call_of(tool, whole_words(argument, CONTENT_CHARS))


def _unwrapped(text: str) -> str:
    """Without the brackets and quotes that hold all of it, and a keyword before them."""
    for _ in range(_MOST_BRACKETS):
        text = _KEYWORD.sub("", text.strip(), count=1) if _KEYWORD.match(text.strip()) else text.strip()
        closing = _BRACKETS.get(text[:1])
        if closing is None or len(text) < 2 or not text.rstrip(".,;").endswith(closing):
            break
        text = text.rstrip(".,;")[1:-1]
    return text.strip()


def _without_thoughts(text: str, then: re.Pattern[str]) -> str:
    """Return what is said outside thoughts. One without an end ends where the tags of `then` begin."""
    parts: list[str] = []
    start, thinking = 0, False
    for mark in _THOUGHTS.finditer(text):
        if mark.group(1):
            if not thinking:  # it was opened in the prompt
                parts.clear()
            start, thinking = mark.end(), False
        elif not thinking:
            parts.append(text[start : mark.start()])
            start, thinking = mark.end(), True
    if thinking:
        begins = then.search(text, start)
        start = begins.start() if begins else len(text)
    return "\n".join((*parts, text[start:]))


def _listed(text: str) -> str:
    """Return the content of all tool tags; the whole text if there are none."""
    marks = list(_TOOLS.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    inside = [text[m.end() : end] for m, end in zip(marks, ends, strict=False) if not m.group(1)]
    return "\n".join(inside) if inside else text
