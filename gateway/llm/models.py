"""Which model is asked: one for all prompts, or another for some of them."""

from collections.abc import Mapping
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.llm.completion import Completion, Written
from gateway.llm.prompt import Prompt, Schema, TextPrompt


class Model(Protocol):
    """What reasoners ask; raises what `VlmClient` raises."""

    @property
    def sees_photos(self) -> bool:
        """False only if the model is known to take text alone: photos are then left out of its prompts."""
        ...

    async def complete(self, prompt: Prompt[Schema], deadline: Deadline) -> Completion[Schema]:
        """The reply to `prompt`, parsed."""
        ...

    async def write(self, prompt: TextPrompt, deadline: Deadline) -> Written:
        """The text that `prompt` asks for."""
        ...


class ModelByPrompt:
    """A `Model` that passes each prompt on. `others`: by the prompt's name; `usual` has the rest."""

    def __init__(self, usual: Model, others: Mapping[str, Model]) -> None:
        self._usual = usual
        self._others = others

    @property
    def sees_photos(self) -> bool:
        """Whether the usual model does."""
        return self._usual.sees_photos

    async def complete(self, prompt: Prompt[Schema], deadline: Deadline) -> Completion[Schema]:
        """See `Model`."""
        return await self._others.get(prompt.name, self._usual).complete(prompt, deadline)

    async def write(self, prompt: TextPrompt, deadline: Deadline) -> Written:
        """See `Model`."""
        return await self._others.get(prompt.name, self._usual).write(prompt, deadline)
