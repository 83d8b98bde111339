"""The part of the official evaluation that calls agents, reimplemented.

What it does: batches of the agent's own size, turn by turn; histories of the agent's earlier answers as they
were cut; it stops where one of those is empty.
"""

from collections.abc import Iterator, Mapping, Sequence

from PIL import Image

from clients.crag_mm import LoreglassAgent

Turns = Sequence[str]
LONGEST = 6
"""Words; the kit cuts at 75 tokens, which few answers reach."""


def batches(talks: Sequence[Turns], size: int) -> Iterator[list[tuple[int, int]]]:
    """(conversation, turn) pairs as the kit hands them over: turn by turn, never one before its history."""
    for turn in range(max(map(len, talks))):
        due = [(talk, turn) for talk in range(len(talks)) if turn < len(talks[talk])]
        for start in range(0, len(due), size):
            yield due[start : start + size]


def kit_run(
    agent: LoreglassAgent, talks: Sequence[Turns], images: Sequence[Image.Image]
) -> dict[tuple[int, int], str]:
    """The part of the kit's evaluation that calls agents, by its rules."""
    said: dict[tuple[int, int], str] = {}
    size = min(max(agent.get_batch_size(), 1), 16)
    for batch in batches(talks, size):
        histories: list[list[Mapping[str, str]]] = []
        for talk, turn in batch:
            history: list[Mapping[str, str]] = []
            for earlier in range(turn):
                answer = said.get((talk, earlier))
                assert answer, "the kit stops where an earlier answer is empty"
                history.append({"role": "user", "content": talks[talk][earlier]})
                history.append({"role": "assistant", "content": answer})
            histories.append(history)
        queries = [talks[talk][turn] for talk, turn in batch]
        answers = agent.batch_generate_response(queries, [images[talk] for talk, _ in batch], histories)
        assert len(answers) == len(batch)
        for unit, answer in zip(batch, answers, strict=True):
            said[unit] = " ".join(answer.split()[:LONGEST])
    return said
