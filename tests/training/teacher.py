"""A teacher: what a model that can read would write, without a model.

A tiny model knows no English, so that nothing it writes could be a label. The teacher stands in for the base
model of a real training: it knows the right answers of a data set like `samples`, gives them if what it is
shown holds them, and refuses otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from bench.node import Says, ScriptedRequest, ServerTraits, says, vlm_server
from bench.node.requests import TextPart, UserMessage
from evaluation.data.model import AskedTurn
from evaluation.data.opening import open_dataset
from evaluation.judging import text
from gateway.llm.delimiting import pieces_in
from gateway.llm.reply_forms import in_lines

MODEL = "teacher"
PLAN = "<think>By words.</think>\n<tool>\n1. caption: The thing that was asked about.\n</tool>"
REFUSAL = "I don't know."
_TRAITS = ServerTraits(json_schema=False, json_object=False, model=MODEL)
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)


@contextmanager
def teaching(world: Path) -> Iterator[str]:
    """Run a model server that answers the questions of a folder like `samples`; yield its address."""
    teacher = Teacher([turn for talk in open_dataset(str(world)).conversations for turn in talk.turns])
    opened = vlm_server(teacher.reply, _TRAITS)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as server:
        yield server.url


class Teacher:
    """Replies to the prompts of `three-step` and of `wiki-prf`. `turns`: the world's questions."""

    def __init__(self, turns: Sequence[AskedTurn]) -> None:
        self._turns: dict[str, list[AskedTurn]] = {}
        for turn in turns:
            self._turns.setdefault(turn.question, []).append(turn)

    def reply(self, request: ScriptedRequest) -> Says:
        """Reply to one request, with a few words if its prompt is neither's."""
        texts = [_text(each) for each in request.chat.messages if isinstance(each, UserMessage)]
        questions = _QUESTION.findall(texts[0])
        question = questions[-1].strip() if questions else ""  # after those of the examples
        shown = texts[-1].rpartition("TASK:")[2]
        answer = self._answer(question, shown)
        match request.name:
            case "sample_query":
                return says(in_lines({"query": f"{self._thing(question)} {question}".strip()}))
            case "rank_evidence":
                pieces = pieces_in(shown)
                relevant = [number for number in pieces if self._answer(question, pieces[number])]
                return says(in_lines({"relevant": relevant[:10]}))
            case "plan_tools":
                return says(PLAN)
            case "describe_photo":
                return says(f"A photo of {self._thing(question) or 'a thing'}.")
            case "filter_knowledge":
                knowledge = answer or "Nothing bears on it."
                return says(f"<think>What is said of it.</think>\n<answer>{knowledge}</answer>")
            case "answer_briefly" | "answer_from_knowledge":
                return says(answer or REFUSAL)
        return says("ready, one, two, three, four")

    def _thing(self, question: str) -> str:
        """What such a question is about, if it is asked of one thing only."""
        things = {turn.truth.photographed for turn in self._turns.get(question, ()) if turn.truth}
        return (things.pop() or "") if len(things) == 1 else ""

    def _answer(self, question: str, shown: str) -> str:
        """The world's, where what is shown says it; else nothing."""
        for turn in self._turns.get(question, ()):
            if turn.truth and turn.answerable and text.says(shown, turn.truth.accepted):
                return turn.gold
        return ""


def _text(message: UserMessage) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
