"""What has to be done to answer: the task behind a question's wording."""

import re
from collections.abc import Sequence
from enum import StrEnum

from gateway.reasoning.extractive.comparatives import Comparison
from gateway.reasoning.extractive.lexical import fold
from gateway.reasoning.extractive.relation import Relation


class Task(StrEnum):
    """What has to be done with the evidence."""

    LOOKUP = "lookup"
    IDENTIFY = "identify"
    READ = "read"
    EXPLAIN = "explain"
    COMPARE = "compare"
    WORKS = "works"
    WORKSHEET = "worksheet"
    RULE = "rule"
    OPEN_AT = "open_at"
    AGE_AT = "age_at"
    YEARS_BETWEEN = "years_between"
    MULTIPLY = "multiply"
    CHECK = "check"
    WARRANTY = "warranty"
    RATE = "rate"


AUXILIARY = re.compile(
    (
        r"^(?:is|are|was|were|does|do|did|can|could|may|might|has|have|had|will|would|should|am|isn't|"
        r"aren't|doesn't)\b"
    ),
    re.I,
)
"""A question that begins so is answered with yes or no."""
_READ = re.compile(
    r"\b(?:what|which)\b.*\b(?:says?|said|written|printed|inscribed|inscription|reads?|engraved|"
    r"text|words?|wording|slogan|message|handwritten)\b"
    r"|\bread (?:this|that|it|the|me|out|aloud)\b|\btranscribe\b|\bsay on\b"
)
_IDENTIFY = re.compile(
    r"^(?:what(?:'s| is| are|) (?:exactly )?(?:this|that|these|it)(?: (?:thing|object|"
    r"\w+))?(?: (?:here|called|i'm \w+(?: at)?|in front of me|in my hands?|on the \w+|exactly|"
    r"in the (?:photo|picture|image)))*"
    r"|which \w+(?: \w+)? (?:is|am|are|was|do|have) (?:this|that|it|i|these|here)\b.*|"
    r"what (?:\w+ )?\w+ (?:is|are|am i) (?:this|that|it|these|what i'm|i)\b.*"
    r"|what am i (?:looking at|holding|seeing).*|identify .*|where am i (?:eating|shopping|"
    r"standing|sitting)?\b.*"
    r"|what (?:book|painting|product|device|poster|shop|store|dish|place|building|plant|animal|car|"
    r"picture|artwork|event|museum|restaurant|cafe|game|seeds?)\b.*\b(?:am i|is this|is that|is it|"
    r"i'm|here)\b.*"
    r"|what (?:kind|type|sort) of (?:product|thing|object|device|item|article)\b.*|"
    r"what will grow .*|(?:which|what) plant (?:is|are|do|does|will|can)\b.*|what (?:kind|sort|"
    r"type) of seeds?\b.*|which seeds?\b.*"
    r"|do you recogni[sz]e .*|name (?:this|that|the) \w+)[?.! ]*$"
)
_TITLE = re.compile(r"\b(?:title|name|called|titled|entitled|named)\b")
_WORKS = re.compile(
    r"\bwhat else\b|\b(?:what|which|name|list|any|how many|some)\b.*\b(?:other|else|another|further)\b.*"
    r"\b(?:written|wrote|write|published|painted|paint|made|make|makes|manufactures?|produces?|"
    r"created|composed|by|from|author|artist|painter|brand|company|designed|design|directed|"
    r"released|sells?|bred|invented|done|do)\b"
    r"|\b(?:what|which|name|list|how many)\b.*\b(?:all|novels|books|paintings|works|titles|"
    r"products|albums|films|games)\b.*\b(?:by|written|wrote|painted|made by|designed)\b"
)
_SHEET = re.compile(
    r"\b(?:solve|solution|calculate|compute|work out|evaluate|simplify|answer (?:to|for|of)|"
    r"result of|correct answer|figure out)\b"
    r"|\b(?:question|problem|exercise|number|item|task|equation|sum|nr|no|part|line|#)\.? ?(?:\d+|"
    r"[a-h]\b|one|two|three|four|five|six)\b|\bwhat(?:'s| is) \d|\b(?:first|second|third|fourth|"
    r"fifth|sixth|last) (?:question|problem|exercise|one|task|sum)\b"
)
_LET = (
    r"bring|carry|take|taken|allowed|permitted|legal|carry-on|hand luggage|cabin|park|enter|admit\w*|"
    r"board|pass|plane|flight|mail|post|ship|checked|qualify|old enough|exceed|within|limit|let (?:me|"
    r"us|him|her|them|in|a|my)|may (?:she|he|they|we|i|one|my)|get in|go in|too young|attend|join|"
    r"come to|go to|watch|through security"
)
_RULE = re.compile(rf"\b(?:can|may|could|should|am|is|are|would|will|do|does|must|might)\b.*\b(?:{_LET})\b")
_AGED = re.compile(
    r"\b\d{1,2}[- ]year[- ]olds?\b|\b(?:is|aged?|am|turns|turned|just) \d{1,2}\b(?! (?:g|ml|euro|"
    r"percent|%|cm))|\b\d{1,2} years old\b"
)
_WARRANTY = re.compile(r"\b(?:warranty|guarantee)\b")
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|weekend|noon|midnight|now"
_OPEN = re.compile(
    rf"\b(?:open|closed|shut|shop here|eat here|go there|visit|get in|buy|come|"
    rf"go)\b.*(?:\b(?:{_DAY})\b|\d\s?(?:am|pm|a\.m|p\.m|o'clock)|\d[:.]\d\d)|(?:\b(?:{_DAY})\b|"
    rf"\d\s?(?:am|pm)|\d[:.]\d\d).*\b(?:open|closed|shut)\b"
)
_AGE = re.compile(
    r"\bhow old (?:was|were|is|are|would|did)\b|\bat what age\b|\bwhat (?:age|"
    r"was the age)\b(?! (?:can|may|for|is|range|limit|do))|\bage (?:of|when|at)\b|\baged when\b|"
    r"\bhow old\b.*\bwhen\b"
)
_WHICH_YEAR = re.compile(r"\b(?:what|which) year\b|\bsince\b|[,;] when\b")
_YEARS = re.compile(
    r"\bhow many years\b|\bhow long (?:before|after|ago|between|did\b.*\blive)\b|\byears (?:before|"
    r"after|between|passed|apart|separate)\b"
)
_MULTIPLY = re.compile(
    r"\b(?:how much|how many|what|total)\b.*\b(?:two|three|four|five|six|seven|eight|nine|ten|"
    r"twelve|(?:a )?dozen|\d+)\s+(?:of (?:these|this|them|it)|tickets?|copies|servings?|portions?|"
    r"bottles?|packs?|packets?|boxes|people|bags|cans|bars|jars|units|pieces|cups|adults|glasses|"
    r"slices|cookies|biscuits|persons|friends)\b"
    r"|\b(?:whole|entire|full|complete) (?:pack|packet|bag|box|bottle|package|can|jar|bar|tin|"
    r"thing|carton|tub|tray)\b"
)
_RATE = re.compile(
    r"\b(?:how (?:many days|long|many weeks|many hours)|when will)\b.*\b(?:at|reading|read|doing|"
    r"with)\b.*\d+\s*(?:pages?|chapters?|\w+)\s*(?:a|per|each|every)\s*(?:day|hour|week|minute)"
)


def task_of(text: str, relations: Sequence[Relation], comparison: Comparison | None) -> Task:
    """The task that the question's wording asks for; a plain lookup when nothing else fits."""
    folded = fold(text)
    yes_no = (
        AUXILIARY.match(text) is not None
        or re.search(r"(?:,|\.|:)\s*(?:may|can|could|will|would|is|are|does|do)\s+\w+", folded) is not None
    )
    if comparison is not None:
        return Task.COMPARE
    first = relations[0].name if relations else ""
    tests: tuple[tuple[bool, Task], ...] = (
        (_WARRANTY.search(folded) is not None and yes_no, Task.WARRANTY),
        (_AGED.search(folded) is not None and (yes_no or "old enough" in folded), Task.RULE),
        (yes_no and _OPEN.search(folded) is not None and first not in {"price"}, Task.OPEN_AT),
        (_RATE.search(folded) is not None, Task.RATE),
        (_WORKS.search(folded) is not None and not re.search(r"\bwhat year|\bwhen\b", folded), Task.WORKS),
        (_AGE.search(folded) is not None and not _WHICH_YEAR.search(folded), Task.AGE_AT),
        (_YEARS.search(folded) is not None, Task.YEARS_BETWEEN),
        (_MULTIPLY.search(folded) is not None, Task.MULTIPLY),
        (_RULE.search(folded) is not None and yes_no, Task.RULE),
        (
            _SHEET.search(folded) is not None
            and (first in {"", "area", "volume", "speed", "title", "power", "address"}),
            Task.WORKSHEET,
        ),
        (
            _IDENTIFY.match(folded) is not None
            and first in {"", "title", "plant", "product type", "year painted"},
            Task.IDENTIFY,
        ),
        (first == "title" and len(relations) == 1, Task.IDENTIFY),
        (not relations and _TITLE.search(folded) is not None and not yes_no, Task.IDENTIFY),
        (_READ.search(folded) is not None and not relations, Task.READ),
        (yes_no and not re.search(r",\s*(?:what|which|who|when|where|how)\b", folded), Task.CHECK),
    )
    return next((task for fits, task in tests if fits), Task.LOOKUP)
