"""Greedy replies to samples, with the model's confidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from training.chat import Chats, Turn


@dataclass(frozen=True, slots=True)
class Said:
    """`confidence`: the mean probability of the tokens that spell it, in 0..1; 0 where there are none."""

    text: str
    confidence: float


class Probabilities:
    """A `LogitsProcessor` that keeps how probable the likeliest token is, which greedy search writes.

    Logits themselves, which `generate` can keep too, would take a vocabulary of floats for every token.
    """

    def __init__(self) -> None:
        self._found: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """`scores` (rows, vocabulary), as they are."""
        self._found.append(scores.float().softmax(-1).amax(-1))
        return scores

    @property
    def of_rows(self) -> Any:
        """A tensor (rows, tokens), in 0..1."""
        import torch

        return torch.stack(self._found, dim=1)


def replies(
    model: Any, chats: Chats, turns: Sequence[Turn], most_tokens: int, batch_size: int = 1
) -> Iterator[Said]:
    """The greedy reply to each, in order. Turns with and without a photo never share a batch."""
    import torch

    was_training = model.training
    model.eval()
    try:
        for batch in _batches(turns, batch_size):
            inputs = {name: value.to(model.device) for name, value in chats.inputs(batch).items()}
            probabilities = Probabilities()
            with torch.inference_mode():
                whole = model.generate(
                    **inputs,
                    max_new_tokens=most_tokens,
                    do_sample=False,
                    logits_processor=[probabilities],
                    pad_token_id=chats.tokenizer.pad_token_id,
                    suppress_tokens=chats.unwritable,
                )
            ids = whole[:, inputs["input_ids"].shape[1] :]
            yield from (_said(chats, *row) for row in zip(ids, probabilities.of_rows, strict=True))
    finally:
        model.train(was_training)


def _said(chats: Chats, ids: Any, probs: Any) -> Said:
    special = set(chats.tokenizer.all_special_ids)
    spelled = [place for place, token in enumerate(ids.tolist()) if token not in special]
    text = chats.tokenizer.decode(ids, skip_special_tokens=True).strip()
    return Said(text, float(probs[spelled].mean()) if spelled else 0.0)


def _batches(turns: Sequence[Turn], size: int) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    for turn in turns:
        if batch and (len(batch) == size or (batch[0].photo is None) != (turn.photo is None)):
            yield batch
            batch = []
        batch.append(turn)
    if batch:
        yield batch
