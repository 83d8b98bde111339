"""What the `wiki-prf` pipeline asks of a reasoner (Wiki-PRF, section 3 and appendix A)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.pieces import first_pieces, once
from gateway.state import Context, Evidence, GenerationBudget, Query, Reply


class PhotoTool(StrEnum):
    """What may be done with the photo before it is searched by (3.2)."""

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
    """Calls in the order in which they are to be made. `dropped`: lines that were no call.

    `in_form`: whether it was written in the form that the paper's reward checks. `written`: the model's own
    words, which filtering goes on from; empty where no model wrote any.
    """

    calls: tuple[ToolCall, ...] = ()
    dropped: int = 0
    in_form: bool = True
    written: str = ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is known before filtering: the whole photo's best article (D) and the tools' sections (S)."""

    document: tuple[Evidence, ...] = ()
    sections: tuple[Evidence, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """D, then what S adds to it: what quotes are counted by."""
        return once((*self.document, *self.sections))

    def within(self, most_chars: int) -> "Gathered":
        """The first pieces of both, half of the characters for either; within either, each text once."""
        return Gathered(
            first_pieces(once(self.document), most_chars // 2),
            first_pieces(once(self.sections), most_chars // 2),
        )


class WikiPrfReasoner(Protocol):
    """One method a stage; each may raise what `chassis.errors` declares, none keeps state between calls."""

    @property
    def sees(self) -> bool:
        """Whether it sees photos itself; a reasoner that does not is given OCR and image search."""
        ...

    async def plan_tools(self, photo_context: PhotoContext, deadline: Deadline) -> ToolPlan:
        """Which tools, in which order (processing, 3.2). Raises where the plan cannot be read."""
        ...

    async def describe(self, query: Query, caption: str, deadline: Deadline) -> str:
        """The description to search by, from the plan's first caption and the question (eq. 1)."""
        ...

    async def filter(self, query: Query, plan: ToolPlan, gathered: Gathered, deadline: Deadline) -> str:
        """Task-oriented knowledge: what of it all serves the question (filtering, 3.4, eq. 8).

        `plan`: what led to it (eq. 10: each token is conditioned on those before it, the plan's too).

        Raises where it cannot be read.
        """
        ...

    async def answer(
        self,
        photo_context: PhotoContext,
        knowledge: str | None,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        """A short answer from the photo and the knowledge (eq. 9); None: the evidence itself is it."""
        ...
