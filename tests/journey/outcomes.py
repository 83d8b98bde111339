"""Ask questions of the sample through the public client, and judge the answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.data.model import AskedTurn, Conversation, Dataset, Part
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import truncate
from evaluation.judging.verdicts import Case, Verdict
from loreglass_client import Answer, AsyncLoreglass

DEADLINE_MS = 30_000
MOST_OF_A_KIND = 3
KINDS: dict[str, Callable[[AskedTurn], bool]] = {
    "photo": lambda turn: turn.answerable and turn.needs == "photo",
    "image_kb": lambda turn: turn.answerable and turn.needs == "image_kb",
    "web": lambda turn: turn.answerable and turn.needs == "web",
    "refused": lambda turn: not turn.answerable,
}
"""By where the answer is to be found."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question, its answer, and the judge's verdict."""

    conversation: Conversation
    turn: AskedTurn
    answer: Answer
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """Whether the judge agrees."""
        return self.verdict is Verdict.CORRECT


Outcomes = Mapping[str, Sequence[Outcome]]
"""By kind."""


async def ask_all(gateway_url: str, world: Dataset) -> Outcomes:
    """Ask a few single questions of each kind."""
    async with AsyncLoreglass(gateway_url) as client:
        return {kind: await _ask_kind(client, world, wanted) for kind, wanted in KINDS.items()}


async def converse(client: AsyncLoreglass, conversation: Conversation) -> list[Outcome]:
    """Ask every turn; send the photo with the first one only."""
    talk = client.conversation(conversation.photo)
    outcomes = []
    for turn in conversation.turns:
        answer = await talk.ask(turn.question, deadline_ms=DEADLINE_MS)
        text = truncate(answer.answer)
        case = Case("", turn.question, turn.gold, text, turn.truth, abstained=answer.abstained)
        outcomes.append(Outcome(conversation, turn, answer, judge_by_rules(case).verdict))
    return outcomes


async def _ask_kind(
    client: AsyncLoreglass, world: Dataset, wanted: Callable[[AskedTurn], bool]
) -> list[Outcome]:
    chosen = [each for each in world.of(Part.SINGLE) if wanted(each.turns[0])][:MOST_OF_A_KIND]
    return [outcome for each in chosen for outcome in await converse(client, each)]
