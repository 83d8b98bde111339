"""Write tokens with the trained model, for many coroutines in one batch."""

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PIL import Image

from gateway.llm.wire import Token
from training.chat import Chats, Probabilities

_LEAST = 1e-30
"""The probability of a token that rounds to none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A sequence to continue. `ids`: all tokens, with those of the photo. `ends_with`: the text after which
    writing may end. `frozen`: without the LoRA, greedily; else sampled.
    """

    ids: tuple[int, ...]
    photo: Image.Image | None
    most_tokens: int
    ends_with: str = ""
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Continuation:
    """The tokens that follow a sequence. `probabilities` in 0..1, if they were written greedily."""

    ids: list[int]
    probabilities: list[float] | None = None

    def tokens(self, tokenizer: Any) -> Iterator[Token]:
        """Yield the tokens as a server reports them that decodes each one alone."""
        for token, probability in zip(self.ids, self.probabilities or (), strict=True):
            text = tokenizer.decode([token], skip_special_tokens=True)
            yield Token(token=text, logprob=math.log(max(probability, _LEAST)))


_AS_LEARNT = {
    "top_k": 0,
    "min_p": None,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
"""Overrides the model's `generation_config.json`, so that samples come from the trained distribution."""


Writer = Callable[[Sequence[Ask]], list[Continuation]]
"""Returns the tokens that follow each sequence, in the order of the asks."""


@dataclass(slots=True)
class OwnWriter:
    """Writes with the trainer's model, by transformers. `at_once`: sequences in a batch.

    `temperature` 0 writes greedily, as the platform does.
    """

    trainer: Any
    chats: Chats
    temperature: float
    top_p: float
    at_once: int

    def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
        """See `Writer`."""
        continuations: dict[int, Continuation] = {}
        kinds: dict[tuple[bool, bool], list[int]] = {}
        for place, ask in enumerate(asks):
            kinds.setdefault((ask.frozen, ask.photo is None), []).append(place)
        for places in kinds.values():
            for start in range(0, len(places), self.at_once):
                batch = places[start : start + self.at_once]
                continuations |= zip(batch, self._batch([asks[n] for n in batch]), strict=True)
        return [continuations[place] for place in range(len(asks))]

    def _batch(self, asks: Sequence[Ask]) -> list[Continuation]:
        """Write a batch: all frozen or none, all with a photo or none."""
        import torch

        frozen, probabilities = asks[0].frozen, Probabilities()
        likeliest = frozen or not self.temperature
        sampling = {} if likeliest else {"temperature": self.temperature, "top_p": self.top_p, **_AS_LEARNT}
        model = self.trainer.accelerator.unwrap_model(self.trainer.model_wrapped)
        was_training = model.training
        model.eval()  # no dropout, as when it is served
        try:
            with torch.no_grad(), model.disable_adapter() if frozen else nullcontext():
                inputs = {name: value.to(model.device) for name, value in self._inputs(asks).items()}
                whole = model.generate(
                    **inputs,
                    max_new_tokens=max(ask.most_tokens for ask in asks),
                    do_sample=not likeliest,
                    pad_token_id=self.chats.tokenizer.pad_token_id,
                    eos_token_id=self.chats.tokenizer.eos_token_id,
                    suppress_tokens=self.chats.unwritable,
                    logits_processor=[probabilities] if likeliest else [],
                    **sampling,
                )
        finally:
            model.train(was_training)
        new = whole[:, inputs["input_ids"].shape[1] :].tolist()
        sequences = [cut_at_end(ids, ask, self.chats.tokenizer) for ids, ask in zip(new, asks, strict=True)]
        if not likeliest:
            return [Continuation(ids) for ids in sequences]
        rows = probabilities.of_rows.tolist()
        return [Continuation(ids, row[: len(ids)]) for ids, row in zip(sequences, rows, strict=True)]

    def _inputs(self, asks: Sequence[Ask]) -> dict[str, Any]:
        """Return inputs, padded on the left, with photos marked as the processor marks them."""
        import torch

        pad, longest = self.chats.tokenizer.pad_token_id, max(len(ask.ids) for ask in asks)
        ids = torch.tensor([[pad] * (longest - len(ask.ids)) + list(ask.ids) for ask in asks])
        mask = torch.tensor([[0] * (longest - len(ask.ids)) + [1] * len(ask.ids) for ask in asks])
        inputs = {"input_ids": ids, "attention_mask": mask}
        photos = [ask.photo for ask in asks if ask.photo is not None]
        if photos:
            inputs |= dict(self.chats.processor.image_processor(images=photos, return_tensors="pt"))
            inputs["mm_token_type_ids"] = (ids == self.chats.processor.image_token_id).int()
        return inputs


def cut_at_end(ids: Sequence[int], ask: Ask, tokenizer: Any) -> list[int]:
    """Return the tokens up to the end of the turn, or up to `ends_with` and an end that follows it."""
    ids, end = ids[: ask.most_tokens], tokenizer.eos_token_id
    turn = list(ids[: ids.index(end) + 1]) if end in ids else list(ids)
    if not ask.ends_with or ask.ends_with not in tokenizer.decode(turn):
        return turn
    shortest = next(n for n in range(1, len(turn) + 1) if ask.ends_with in tokenizer.decode(turn[:n]))
    return turn[: shortest + 1] if turn[shortest : shortest + 1] == [end] else turn[:shortest]


Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(slots=True)
class _Waiting(Generic[Request, Reply]):
    place: int
    request: Request
    reply: "asyncio.Future[Reply]"


class Together(Generic[Request, Reply]):
    """Batches requests: `answer` gets those of all active members, in the order of their places.

    `answer` blocks the event loop: all members wait for it. Each member has one request at a time.
    """

    def __init__(self, answer: Callable[[Sequence[Request]], Sequence[Reply]], members: int) -> None:
        self._answer = answer
        self._members = members
        self._waiting: list[_Waiting[Request, Reply]] = []
        self.failure: Exception | None = None

    async def ask(self, place: int, request: Request) -> Reply:
        """Return the reply, once all other members ask too or have left. Raises what `answer` raises."""
        waiting = _Waiting[Request, Reply](place, request, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._answer_if_all_wait()
        return await waiting.reply

    def leave(self) -> None:
        """Tell that a member will ask no more."""
        self._members -= 1
        self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        waiting = [each for each in self._waiting if not each.reply.done()]
        if not waiting or len(waiting) < self._members:
            return
        self._waiting = []
        waiting.sort(key=lambda each: each.place)
        try:
            replies = self._answer([each.request for each in waiting])
        except Exception as error:  # noqa: BLE001 - raised where it was asked for, and kept
            self.failure = error
            for each in waiting:
                each.reply.set_exception(error)
            return
        for each, reply in zip(waiting, replies, strict=True):
            each.reply.set_result(reply)
