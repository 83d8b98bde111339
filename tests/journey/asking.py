"""Questions of the synthetic world, asked through the public client and judged by its truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio

from clients.python import LoreglassClient
from contracts.answer import Answer
from evaluation.data.model import AskedTurn, Conversation
from evaluation.data.world import World, truth_of
from evaluation.judging.judge import judge
from evaluation.judging.port import Verdict

DEADLINE_MS = 30_000
MOST_OF_A_KIND = 3

Wanted = Callable[[AskedTurn], bool]
KINDS: dict[str, Wanted] = {
    "photo": lambda turn: turn.answerable and turn.needs == "photo",
    "image_kb": lambda turn: turn.answerable and turn.needs == "image_kb",
    "web": lambda turn: turn.answerable and turn.needs == "web",
    "refused": lambda turn: not turn.answerable,
}
"""By where the answer is to be found."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, its answer, and what the judge makes of it."""

    conversation: Conversation
    turn: AskedTurn
    answer: Answer
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """Whether the judge agrees."""
        return self.verdict is Verdict.CORRECT


Outcomes = Mapping[str, Sequence[Outcome]]
"""What one deployment answered, by kind."""


async def ask_all(gateway_url: str, world: World) -> Outcomes:
    """A few single questions of each kind."""
    async with LoreglassClient(gateway_url) as client:
        return {kind: await _ask_kind(client, world, wanted) for kind, wanted in KINDS.items()}


async def converse(client: LoreglassClient, conversation: Conversation) -> list[Outcome]:
    """Ask every turn; the photo goes with the first one only."""
    photo: bytes | None = await anyio.Path(conversation.photo).read_bytes()
    session: str | None = None
    outcomes = []
    for turn in conversation.turns:
        answer = await client.ask(turn.question, photo, session, DEADLINE_MS)
        photo, session = None, answer.session_id
        judged = judge(answer.answer, truth_of(turn), turn.question, turn.gold, abstained=answer.abstained)
        outcomes.append(Outcome(conversation, turn, answer, judged.verdict))
    return outcomes


async def _ask_kind(client: LoreglassClient, world: World, wanted: Wanted) -> list[Outcome]:
    chosen = [each for each in world.single if wanted(each.turns[0])][:MOST_OF_A_KIND]
    return [outcome for each in chosen for outcome in await converse(client, each)]
