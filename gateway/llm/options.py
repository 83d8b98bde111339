"""The reasoner's limits in one frozen value; the gateway's settings fill it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gateway.llm.delimiting import Budget
from gateway.llm.prompt import ImagePart, Prompt, TextPrompt, user_turns

Asked = TypeVar("Asked", bound=Prompt[Any] | TextPrompt)
Shown = TypeVar("Shown")

_TEMPLATE_TOKENS = 96
"""Marks of roles, turns and the photo, and the two lines on dates that Llama 3.2's template adds."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The longest reply of each stage, in tokens: a stage's time is mostly its reply's length."""

    understand: int = 256
    chain_of_thought: int = 448
    choose_tools: int = 128
    list_objects: int = 96
    select_object: int = 128
    match_entity: int = 160
    split_query: int = 256
    enhance_queries: int = 256
    answer: int = 96
    rewrite: int = 64
    judge: int = 4


@dataclass(frozen=True, slots=True)
class Window:
    """What the model takes in one call, in tokens: `context` with the reply, of which a photo takes `photo`.

    Shares of it bound what comes before the evidence, whatever its script; evidence gets what is left.
    """

    context: int = 8_192
    photo: int = 1_600

    @property
    def question(self) -> int:
        """Of the question."""
        return self.context // 8

    @property
    def instructions(self) -> int:
        """Of the wishes of whoever set the conversation up."""
        return self.context // 32

    def reads(self, prompt: Prompt[Any] | TextPrompt) -> int:
        """The prompt's tokens at most, with its photo and what the chat template adds."""
        photos = sum(isinstance(part, ImagePart) for turn in user_turns(prompt) for part in turn)
        return _TEMPLATE_TOKENS + photos * self.photo + prompt.text_tokens

    def left(self, prompt: Prompt[Any] | TextPrompt) -> int:
        """What the prompt could still hold beside its longest reply; less than 0 if it holds too much."""
        return self.context - self.reads(prompt) - prompt.max_tokens

    def fitted(
        self, prompt_with: Callable[[Shown], Asked], shown_within: Callable[[int], Shown]
    ) -> tuple[Asked, Shown]:
        """The prompt with as much evidence as it has room for, and what that is."""
        bare = prompt_with(shown_within(0))
        shown = shown_within(self.left(bare))
        return prompt_with(shown), shown


@dataclass(frozen=True, slots=True)
class VlmOptions:
    """What the gateway may set.

    `evidence`, `history_*`, `printed_chars`: what a prompt may hold, in characters (about four a token),
    where `window` has room for it, of which the conversation takes no more than `history_share`.
    """

    evidence: Budget = field(default=Budget(total=8_000, piece=1_500))
    history_turns: int = 4
    history_chars: int = 1_600
    history_share: float = 1 / 8
    printed_chars: int = 800
    max_candidates: int = 8
    max_objects: int = 6
    max_queries: int = 4
    tokens: TokenLimits = field(default_factory=TokenLimits)
    window: Window = field(default_factory=Window)

    @property
    def history_tokens(self) -> int:
        """Of the conversation so far."""
        return int(self.window.context * self.history_share)
