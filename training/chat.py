"""Turn chats into a model's inputs and labels, and write greedy replies.

Loss and generation begin where the template's opening of the assistant's turn ends, so a model is trained on
exactly what it is served with. The template needs no marks for this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from chassis.images import ImageLimits, upright_rgb
from training.samples import Message

NO_LOSS = -100
"""torch's label of a token without loss."""
_LIMITS = ImageLimits()


class UnfitSample(Exception):
    """A sample that this model cannot be trained on; the message says why."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A chat and its photo. `reply`: what the model learns to write; empty outside of training."""

    messages: Sequence[Message]
    photo: Path | None
    reply: str = ""


class Chats:
    """Makes inputs of one model. `processor`: transformers' own, with a chat template."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self._photo_tokens: dict[tuple[int, int], int] = {}

    @property
    def unwritable(self) -> list[int]:
        """Return the tokens that stand for photos and videos. The model must not write them."""
        names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
        tokens = (getattr(self.processor, name, None) for name in names)
        return sorted({token for token in tokens if token is not None and token < len(self.tokenizer)})

    def prompt(self, turn: Turn) -> str:
        """Return the chat up to where the assistant begins to write."""
        prompt: str = self.processor.apply_chat_template(chat_of(turn.messages), add_generation_prompt=True)
        return prompt

    def reply(self, turn: Turn, prompt: str) -> str:
        """Return the assistant's turn up to the token that ends it. Raises `UnfitSample`."""
        marks = [mark for mark in self.tokenizer.all_special_tokens if mark in turn.reply]
        if marks:
            raise UnfitSample(f"its reply holds a control token of the model, {marks[0]}")
        written = {"role": "assistant", "content": [{"type": "text", "text": turn.reply.strip()}]}
        chat = [*chat_of(turn.messages), written]
        whole: str = self.processor.apply_chat_template(chat)
        if not whole.startswith(prompt):
            raise UnfitSample("the model's chat template writes a reply elsewhere than it is generated")
        reply, end, _ = whole[len(prompt) :].partition(self.tokenizer.eos_token)
        return reply + end

    def length(self, turn: Turn) -> tuple[int, int]:
        """Return how many tokens the prompt with its photo and the reply have. Raises `UnfitSample`."""
        prompt = self.prompt(turn)
        reply = self.reply(turn, prompt)
        photo = 0 if turn.photo is None else self._tokens_of_photo(turn.photo) - 1
        return len(self.ids(prompt)) + photo, len(self.ids(reply))

    def inputs(self, turns: Sequence[Turn], *, side: str = "left") -> dict[str, Any]:
        """Return a batch of prompts as tensors (turns, tokens), padded on `side`."""
        return self._encode([self.prompt(turn) for turn in turns], turns, side)

    def training_inputs(self, turns: Sequence[Turn]) -> dict[str, Any]:
        """Return a batch with `labels` (turns, tokens): only replies carry loss. Raises `UnfitSample`."""
        prompts = [self.prompt(turn) for turn in turns]
        wholes = [prompt + self.reply(turn, prompt) for turn, prompt in zip(turns, prompts, strict=True)]
        batch = self._encode(wholes, turns, "right")
        before = self._encode(prompts, turns, "right")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, NO_LOSS)
        for place, length in enumerate(before["attention_mask"].sum(dim=1).tolist()):
            if not batch["input_ids"][place, :length].equal(before["input_ids"][place, :length]):
                raise UnfitSample("its reply changes how the end of the prompt is cut into tokens")
            labels[place, :length] = NO_LOSS
        return {**batch, "labels": labels}

    def _encode(self, texts: Sequence[str], turns: Sequence[Turn], side: str) -> dict[str, Any]:
        photos = [[self.photo(turn.photo)] for turn in turns if turn.photo is not None]
        if photos and len(photos) < len(turns):
            raise UnfitSample("chats with and without a photo cannot share a batch")
        images = {"images": photos} if photos else {}
        encoded: Mapping[str, Any] = self.processor(
            text=list(texts),
            **images,
            padding=True,
            padding_side=side,
            add_special_tokens=False,  # the template has written them
            return_tensors="pt",
        )
        return {name: value for name, value in encoded.items() if name != "token_type_ids"}

    def _tokens_of_photo(self, photo: Path) -> int:
        """Return the number of tokens of a photo of this size."""
        with Image.open(photo) as opened:
            size = opened.size
        if size not in self._photo_tokens:
            mark = self.processor.apply_chat_template([{"role": "user", "content": [{"type": "image"}]}])
            blank = self.processor(
                text=[mark], images=[[Image.new("RGB", size)]], add_special_tokens=False, return_tensors="pt"
            )
            around = len(self.ids(mark)) - 1
            self._photo_tokens[size] = int(blank["input_ids"].shape[1]) - around
        return self._photo_tokens[size]

    def photo(self, path: Path) -> Image.Image:
        """Return the photo in RGB, upright. Raises the errors of `chassis.images`."""
        return upright_rgb(path.read_bytes(), _LIMITS, None)

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text, without special tokens around it."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def chat_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages in the form that chat templates take."""
    return [
        {
            "role": message.role,
            "content": [
                {"type": "image"} if piece.type == "image" else {"type": "text", "text": piece.text}
                for piece in message.content
            ],
        }
        for message in messages
    ]


@dataclass(frozen=True, slots=True)
class Reply:
    """`confidence`: the mean probability of the tokens that spell it, in 0..1; 0 where there are none."""

    text: str
    confidence: float


class Probabilities:
    """A `LogitsProcessor` that records the probability of the most likely token, which greedy search writes.

    `generate` can return logits itself, but those take a vocabulary of floats for each token.
    """

    def __init__(self) -> None:
        self._rows: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return `scores` (rows, vocabulary) unchanged."""
        self._rows.append(scores.float().softmax(-1).amax(-1))
        return scores

    @property
    def of_rows(self) -> Any:
        """Return a tensor (rows, tokens) of probabilities in 0..1."""
        import torch

        return torch.stack(self._rows, dim=1)


def replies(
    model: Any, chats: Chats, turns: Sequence[Turn], most_tokens: int, batch_size: int = 1
) -> Iterator[Reply]:
    """Yield the greedy reply to each turn, in order. Turns with and without a photo never share a batch."""
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
            yield from (_reply(chats, *row) for row in zip(ids, probabilities.of_rows, strict=True))
    finally:
        model.train(was_training)


def _reply(chats: Chats, ids: Any, probs: Any) -> Reply:
    special = set(chats.tokenizer.all_special_ids)
    spelled = [place for place, token in enumerate(ids.tolist()) if token not in special]
    text = chats.tokenizer.decode(ids, skip_special_tokens=True).strip()
    return Reply(text, float(probs[spelled].mean()) if spelled else 0.0)


def _batches(turns: Sequence[Turn], size: int) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    for turn in turns:
        if batch and (len(batch) == size or (batch[0].photo is None) != (turn.photo is None)):
            yield batch
            batch = []
        batch.append(turn)
    if batch:
        yield batch
