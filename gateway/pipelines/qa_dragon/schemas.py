"""What the model replies in QA-Dragon's steps. Sections refer to the paper."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from gateway.llm.schemas import (
    MAX_OBJECTS,
    Blank,
    Label,
    Queries,
    Sentence,
    Structured,
    Tools,
    first_number,
    items_at_most,
)


class ToolChoice(Structured):
    """The tool router's decision (QA-Dragon, 3.3)."""

    reason: Sentence = Field(description="one sentence on what is missing")
    tools: Tools = Field(default=[], description="the searches that must run: image_search, text_search")


class ObjectList(Structured):
    """Categories of things in the photo (QA-Dragon, 3.4.1)."""

    objects: Annotated[list[Label], items_at_most(MAX_OBJECTS), Field(max_length=MAX_OBJECTS)] = Field(
        description="kinds of things, one to three words each, the likeliest first"
    )


class ObjectChoice(Structured):
    """The one thing that the question is about (QA-Dragon, 3.4.1)."""

    reason: Sentence = Field(description="one short sentence on what decided it")
    object_label: Annotated[Label | None, Blank] = Field(
        default=None, description="the thing's word from the list, with a telling word if needed, or null"
    )


class EntityMatch(Structured):
    """Which candidate is really there (QA-Dragon, 3.4.4)."""

    reason: Sentence = Field(description="one sentence on what agrees or does not")
    candidate: Annotated[int | None, BeforeValidator(first_number)] = Field(
        default=None, description="the number of the candidate that is in the photo, or null for none of them"
    )


class QuerySplit(Structured):
    """Sub-queries (QA-Dragon, 3.5.1)."""

    reason: Sentence = Field(description="one sentence on which facts are needed")
    queries: Queries = Field(default=[], description="the searches, in the order in which they are needed")


class QueryRewrite(Structured):
    """Sub-queries with the verified thing's name in them (QA-Dragon, 3.5.1 and 3.5.2)."""

    queries: Queries = Field(description="the searches, rewritten, as many as were given and in their order")
