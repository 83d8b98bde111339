"""What the baselines' prompts ask the model to write; see `schemas` for how replies are read."""

from typing import Annotated

from pydantic import Field

from gateway.llm.schemas import Blank, QueryText, Sentence, Steps, Structured


class SteppedAnswer(Structured):
    """An answer after its reasons (chain of thought)."""

    reasoning: Steps = Field(description="the steps of thought, one sentence each, at most five")
    answer: Annotated[Sentence | None, Blank] = Field(
        default=None, description="one short sentence, or: I don't know"
    )


class RewrittenQuery(Structured):
    """A search that stands without the photo (CRAG-MM, appendix C.1)."""

    query: QueryText = Field(description="the question as one line for a web search engine")
