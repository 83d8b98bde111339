"""The schemas of the model's replies, field by field: each is that of a prompt and of its parser.

Fields stand in the order of thought, reason before answer, because a model writes them in this order.
The JSON schema that is sent (`reply_forms`) requires every field, or those without a default. Reading is
forgiving, for servers that cannot hold a model to a schema: what is too long is cut, what is missing counts
as not said. Only the first field must be there, so that another kind of reply is not taken for this one.
"""

import json
import re
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gateway.llm.reply_forms import in_lines
from gateway.state import Tool

Choice = TypeVar("Choice", bound=StrEnum)
Form = TypeVar("Form", bound="Structured")

MAX_STEPS = 5
MAX_OBJECTS = 8
MAX_QUERIES = 6
_NUMBER = re.compile(r"(?<![\d.])(?<!^-)(?<!\D-)[0-9]{1,4}(?!\d)")
_NOTHING = frozenset({"", "null", "none", "nil", "n/a", "unknown", "-"})


class Structured(BaseModel):
    """Base of all replies. What they hold is never shown in an error."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    omits_defaults: ClassVar[bool] = False
    """True if a reply leaves out the fields that have their default."""

    def as_json(self) -> str:
        """Return the reply as a model should write it where it is held to a schema."""
        return json.dumps(self._content(), ensure_ascii=False)

    def as_lines(self) -> str:
        """Return the reply as a model should write it in labelled lines."""
        return f"\n{in_lines(self._content())}"

    def _content(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=self.omits_defaults)


def _cut(longest: int) -> BeforeValidator:
    def cut(value: object) -> object:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return value.strip()[:longest] if isinstance(value, str) else value

    return BeforeValidator(cut)


def _name_or_none(value: object) -> object:
    """Models without a grammar write "null" or "unknown" where they mean null."""
    return None if isinstance(value, str) and value.strip().casefold() in _NOTHING else value


def items_at_most(most: int) -> BeforeValidator:
    def items(value: object) -> object:
        if isinstance(value, str):
            value = [line for line in value.splitlines() if line.strip()]
        if isinstance(value, list | tuple):
            return [item for item in value if item is not None][:most]
        return [] if value is None else value

    return BeforeValidator(items)


def _one_of(kind: type[Choice], otherwise: Choice) -> BeforeValidator:
    """Return the member in any spelling; for other words `otherwise`, the member that claims least."""

    def one_of(value: object) -> object:
        spelled = re.sub(r"[^a-z]+", "_", str(value).casefold()).strip("_")
        return spelled if spelled in set(kind) else otherwise

    return BeforeValidator(one_of)


def _known_tools(value: object) -> object:
    if isinstance(value, str):
        value = re.split(r"[,;\s]+", value)
    if not isinstance(value, list | tuple):
        return []
    spelled = {str(item).casefold().strip().replace(" ", "_").replace("-", "_") for item in value}
    return [tool for tool in Tool if tool in spelled]


def _sought(value: object) -> object:
    """A kind of thing; a model without a grammar may also write a list of them, or that there is one."""
    if isinstance(value, list | tuple):
        value = next(iter(value), None)
    if isinstance(value, bool):
        return "thing" if value else None
    return _name_or_none(value)


def _not_a_switch(value: object) -> object:
    return [] if isinstance(value, bool) else value


def first_number(value: object) -> int | None:
    """Return the first number in whatever the model wrote: 2, "2", "[2, 3]", "piece 2"; -1 means none."""
    values = value if isinstance(value, list | tuple) else [value]
    return next((int(digits) for item in values for digits in _NUMBER.findall(str(item))), None)


Step = Annotated[str, _cut(300), Field(max_length=300)]
Steps = Annotated[list[Step], items_at_most(MAX_STEPS), Field(max_length=MAX_STEPS)]
Sentence = Annotated[str, _cut(400), Field(max_length=400)]
Label = Annotated[str, _cut(48), Field(max_length=48)]
Name = Annotated[str, _cut(120), Field(max_length=120)]
QueryText = Annotated[str, _cut(200), Field(max_length=200)]
Queries = Annotated[list[QueryText], items_at_most(MAX_QUERIES), Field(max_length=MAX_QUERIES)]
Tools = Annotated[list[Tool], BeforeValidator(_known_tools), Field(max_length=len(Tool))]
Blank = BeforeValidator(_name_or_none)


class Answerability(StrEnum):
    """The source of the answer: the search router's answerability flag (QA-Dragon, 3.2)."""

    IN_PHOTO = "in_photo"
    CHECK = "check"
    LOOK_UP = "look_up"


class Look(Structured):
    """The beginning of every draft: its reasoning trace (3.1.2), its answer, and answerability (3.2)."""

    reasoning: Steps = Field(description="the steps of thought, one sentence each, at most five")
    entity: Annotated[Name | None, Blank] = Field(
        default=None, description="its own name if it is certain, null if you only know its kind"
    )
    answer: Sentence | None = Field(
        default=None, description="the answer in one short sentence, or null if you cannot determine it"
    )
    answerability: Annotated[Answerability, _one_of(Answerability, Answerability.LOOK_UP)] = Field(
        default=Answerability.LOOK_UP,
        description=(
            "in_photo: read, counted or worked out from photo and question alone; "
            "check: from your own knowledge, worth checking; look_up: not known to you"
        ),
    )


class ChainOfThought(Look):
    """The draft of QA-Dragon's own order of calls (3.1.2)."""

    object_label: Annotated[Label | None, Blank] = Field(
        default=None, description="the kind of thing the question is about, one to three words, or null"
    )


class Understanding(Look):
    """The fused first look: the draft, then each tool that is needed with what it is asked (3.3, 3.5.1).

    What would be null, empty or `look_up` is left out: a word not written is time not spent.
    """

    omits_defaults: ClassVar[bool] = True

    reasoning: Steps = Field(description="one step of thought, or two, fifteen words each at most")
    image_search: Annotated[Label | None, BeforeValidator(_sought)] = Field(
        default=None,
        description="the kind of thing whose name is to be found among pictures, one to three words",
    )
    text_search: Annotated[Queries, BeforeValidator(_not_a_switch)] = Field(
        default=[],
        description="what to look up in texts, each complete in itself; {entity} for what has no name yet",
    )


def in_words(schema: type[Structured]) -> str:
    """Return the fields as a prompt lists them."""
    lines = [f"- {name}: {field.description}" for name, field in schema.model_fields.items()]
    which = ", without those that would be null or empty" if schema.omits_defaults else ""
    return f"Reply with these fields{which}, in this order, and nothing else:\n" + "\n".join(lines)
