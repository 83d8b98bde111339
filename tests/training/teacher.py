"""`python -m tests.training.teacher WORLD --port N`: what a model that can read would write, without a model.

A tiny model knows no English, so that nothing it writes could be a label. This server stands in for the base
model of a real training: it knows the right answers of a data set like `samples`, and gives them where they
stand in what it is shown, and refuses elsewhere.
"""

import json
import re
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.data.model import AskedTurn
from evaluation.data.opening import open_dataset
from evaluation.judging.text import says
from gateway.llm.delimiting import shown_pieces
from gateway.llm.reply_forms import in_lines

MODEL = "teacher"
PLAN = "<think>By words.</think>\n<tool>\n1. caption: The thing that was asked about.\n</tool>"
REFUSAL = "I don't know."
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_FORM = re.compile(r'Write the form "(\w+)"')


class Teacher:
    """Replies to the prompts of `three-step` and of `wiki-prf`. `turns`: the world's questions."""

    def __init__(self, turns: Sequence[AskedTurn]) -> None:
        self._turns: dict[str, list[AskedTurn]] = {}
        for turn in turns:
            self._turns.setdefault(turn.question, []).append(turn)

    def reply(self, messages: Sequence[dict[str, Any]]) -> str:
        """To a chat of OpenAI's API; a few words to a prompt that is neither's."""
        texts = [_text(message["content"]) for message in messages if message["role"] != "system"]
        forms, asked = _FORM.findall(texts[-1]), _QUESTION.findall(texts[0])
        question = asked[-1].strip() if asked else ""  # after those of the examples
        shown = texts[-1].rpartition("TASK:")[2]
        answer = self._answer(question, shown)
        match forms[-1] if forms else "":
            case "sample_query":
                return in_lines({"query": f"{self._thing(question)} {question}".strip()})
            case "rank_evidence":
                pieces = shown_pieces(shown)
                return in_lines({"relevant": [n for n in pieces if self._answer(question, pieces[n])][:10]})
            case "plan_tools":
                return PLAN
            case "describe_photo":
                return f"A photo of {self._thing(question) or 'a thing'}."
            case "filter_knowledge":
                return (
                    f"<think>What is said of it.</think>\n<answer>{answer or 'Nothing bears on it.'}</answer>"
                )
            case "answer_briefly" | "answer_from_knowledge":
                return answer or REFUSAL
        return "ready, one, two, three, four"

    def _thing(self, question: str) -> str:
        """What such a question is about, if it is asked of one thing only."""
        things = {turn.truth.photographed for turn in self._turns.get(question, ()) if turn.truth}
        return (things.pop() or "") if len(things) == 1 else ""

    def _answer(self, question: str, shown: str) -> str:
        """The world's, where what is shown says it; else nothing."""
        for turn in self._turns.get(question, ()):
            if turn.truth and turn.answerable and says(shown, turn.truth.accepted):
                return turn.gold
        return ""


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def serve(
    world: Annotated[Path, typer.Argument(help="a folder like samples")],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
) -> None:
    """Answer for the questions of WORLD on this machine, by OpenAI's API, until it is told to stop."""
    teacher = Teacher([turn for talk in open_dataset(str(world)).conversations for turn in talk.turns])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": teacher.reply(asked["messages"])}
            self._send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        def _send(self, told: dict[str, Any]) -> None:
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    typer.run(serve)
