"""The reasoner's limits in one frozen value; the gateway's settings fill it."""

from dataclasses import dataclass, field

from gateway.llm.delimiting import Budget


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The longest reply of each stage, in tokens: a stage's time is mostly its reply's length."""

    understand: int = 512
    chain_of_thought: int = 448
    choose_tools: int = 128
    list_objects: int = 96
    select_object: int = 128
    match_entity: int = 160
    split_query: int = 256
    enhance_queries: int = 256
    answer: int = 288
    judge: int = 160


@dataclass(frozen=True, slots=True)
class VlmOptions:
    """What the gateway may set.

    `evidence`, `history_*`, `printed_chars`: what a prompt may hold, in characters (about four a token).

    `unmeasured`: the confidence of an answer whose server tells no log probabilities; it passes the routers'
    and refusals' cut-offs, so that verification decides. `judged_correct`, `judged_incorrect`: what a verdict
    without log probabilities is worth; a judge is right more often than not, and never certain.
    """

    evidence: Budget = field(default=Budget(total=8_000, piece=1_500))
    history_turns: int = 4
    history_chars: int = 1_600
    printed_chars: int = 800
    max_candidates: int = 8
    max_objects: int = 6
    max_queries: int = 4
    unmeasured: float = 0.65
    judged_correct: float = 0.9
    judged_incorrect: float = 0.1
    tokens: TokenLimits = field(default_factory=TokenLimits)
