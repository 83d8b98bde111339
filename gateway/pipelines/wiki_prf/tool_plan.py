"""A tool plan of Wiki-PRF, and what its tools gathered (section 3)."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.reasoning.pieces import first_pieces, once
from gateway.state import Evidence


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
    """Evidence before filtering: the whole photo's best article (D) and the tools' sections (S)."""

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
