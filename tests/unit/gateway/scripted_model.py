"""A `Model` that the test scripts by the names of its prompts."""

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chassis.resilience.deadlines import Deadline
from gateway.llm.completion import Assembly, Completion
from gateway.llm.delimiting import pieces_in
from gateway.llm.prompt import Prompt, TextPart, Value
from gateway.llm.wire import ChunkWire


class Cut(str):
    """A reply that ends at its limit of tokens."""


@dataclass
class ScriptedModel:
    """Reply by the prompt's name, and record the prompts.

    A reply is text, the fields of an object, an error, or a function of the prompt, awaited if need be,
    that returns one of these.
    The text is one token of this probability.
    """

    replies: Mapping[str, Any]
    probability: float = 0.9
    sees_photos: bool = True
    prompts: list[Prompt[Any]] = field(default_factory=list)

    def names(self) -> list[str]:
        """Return the names of the prompts in order."""
        return [prompt.name for prompt in self.prompts]

    def text(self, name: str) -> str:
        """Return the text of the last prompt of this name."""
        return text_of([prompt for prompt in self.prompts if prompt.name == name][-1])

    def pieces(self, name: str) -> list[str]:
        """Return the pieces of evidence in the last prompt of this name, without their headings."""
        return [piece.partition("\n")[2] for piece in pieces_in(self.text(name)).values()]

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        """Return the scripted reply as the client reads it."""
        self.prompts.append(prompt)
        reply = self.replies[prompt.name]
        if callable(reply):
            reply = reply(prompt)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        assembly: Assembly[Value] = Assembly(prompt.schema, prompt.ends_with)
        assembly.add(chunk(text, "length" if isinstance(reply, Cut) else "stop", self.probability))
        return assembly.completion()


def chunk(text: str, finish_reason: str | None = None, probability: float = 1.0) -> ChunkWire:
    """Return the event of a stream that has this text as one token."""
    token = {"token": text, "logprob": math.log(probability)}
    choice = {
        "delta": {"content": text},
        "logprobs": {"content": [token]},
        "finish_reason": finish_reason,
    }
    return ChunkWire.model_validate({"choices": [choice]})


def text_of(prompt: Prompt[Any]) -> str:
    """Return the text of all of its turns."""
    return "\n".join(part.text for turn in prompt.turns for part in turn if isinstance(part, TextPart))


def first_piece(prompt: Prompt[Any]) -> str:
    """Reply with the first piece of evidence in the prompt."""
    pieces = pieces_in(text_of(prompt))
    return pieces[1].partition("\n")[2] if pieces else "I don't know."
