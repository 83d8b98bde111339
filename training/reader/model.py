"""A cross-encoder that reads: start and end of the answer, and whether the passage answers.

BERT over question and passage (Devlin et al., 2019, section 4.3): the start and end logits of [CLS] stand for
"no answer". A second head on [CLS] gives the log odds that the passage answers, which also rank passages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from chassis.models.windows import question_text
from training.reader.rows import Row, SpanPlace
from training.torchvision_ops import make_importable

FINISHED, CHECKPOINT = "model.pt", "checkpoint.pt"


@dataclass(frozen=True, slots=True)
class Example:
    """A row as tokens. `starts`, `ends`: the tokens that may start or end the answer; [0] for no answer.

    `paired`: the n-th start belongs to the n-th end; otherwise any start goes with any end (a sentence).
    """

    ids: np.ndarray
    types: np.ndarray
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    paired: bool
    has_answer: bool


class CrossEncoder(nn.Module):  # type: ignore[misc]
    """`forward` takes ids, types and mask [batch, tokens]; returns logits of spans and of "it answers"."""

    def __init__(self, encoder: nn.Module, hidden: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.span = nn.Linear(hidden, 2)
        self.answers = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    @classmethod
    def from_base(cls, folder: Path) -> "CrossEncoder":
        """Return the model with the weights of a sentence encoder and new heads."""
        make_importable()
        from transformers import AutoModel

        encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa")
        return cls(encoder, encoder.config.hidden_size)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [batch, tokens, 2] of start and end, and [batch] of whether the passage answers."""
        return self.heads(
            self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        )

    def heads(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return what `forward` does, of the encoder's last states."""
        return self.span(states), self.answers(states[:, 0])[:, 0]


def passage_text(title: str, text: str) -> str:
    """Return the passage below its title."""
    return f"{title}\n{text}" if title else text


def tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Return the tokenizer, which cuts the passage and never the question."""
    loaded = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded.no_padding()
    loaded.enable_truncation(max_tokens, strategy="only_second")
    return loaded


def example(row: Row, tokens: Tokenizer, titled: bool) -> Example | None:
    """Return a row as tokens; None if truncation cut its answer off. `titled`: with the title."""
    title = row.title if titled else ""
    encoded = tokens.encode(question_text(row.question[:300], row.subject), passage_text(title, row.passage))
    skip = len(passage_text(title, row.passage)) - len(row.passage)
    ids, types = np.array(encoded.ids, np.int64), np.array(encoded.type_ids, np.int64)
    if row.spans:
        found = [place for place in (tokens_of(span, encoded, skip) for span in row.spans) if place]
        if not found:
            return None
        starts, ends = zip(*found, strict=True)
        return Example(ids, types, starts, ends, True, True)
    if row.sentence is not None:
        place = tokens_of(row.sentence, encoded, skip)
        inside = tuple(range(place[0], place[1] + 1)) if place else ()
        return Example(ids, types, inside, inside, False, True) if inside else None
    return Example(ids, types, (0,), (0,), True, False)


def tokens_of(span: SpanPlace, encoded: Encoding, skip: int = 0) -> tuple[int, int] | None:
    """Return the first and last token of a span of the passage; None if truncation cut it.

    `skip`: characters before the passage.
    """
    start, end = span[0] + skip, span[1] + skip
    inside = [
        place
        for place, (kind, offsets) in enumerate(zip(encoded.sequence_ids, encoded.offsets, strict=True))
        if kind == 1 and offsets[0] < end and offsets[1] > start
    ]
    complete = inside and encoded.offsets[inside[-1]][1] >= end
    return (inside[0], inside[-1]) if complete else None


def collate(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Return a batch: ids, types and mask, padded to the longest."""
    width = max(len(each.ids) for each in examples)
    ids, types, mask = (np.zeros((len(examples), width), np.int64) for _ in range(3))
    for row, each in enumerate(examples):
        size = len(each.ids)
        ids[row, :size], types[row, :size], mask[row, :size] = each.ids, each.types, 1
    return {"ids": torch.from_numpy(ids), "types": torch.from_numpy(types), "mask": torch.from_numpy(mask)}


def loss(spans: Tensor, answers: Tensor, mask: Tensor, examples: Sequence[Example]) -> Tensor:
    """Return the mean loss of a batch: marginal likelihood of the spans, and of whether it answers."""
    spans = spans.float().masked_fill(mask[..., None] == 0, -1e4)
    log_starts, log_ends = (spans[..., side].log_softmax(-1) for side in (0, 1))
    terms = []
    for row, each in enumerate(examples):
        starts, ends = log_starts[row, list(each.starts)], log_ends[row, list(each.ends)]
        if each.paired:
            terms.append(-(starts + ends).logsumexp(0))
        else:
            terms.append(-(starts.logsumexp(0) + ends.logsumexp(0)))
    truth = torch.tensor([float(each.has_answer) for each in examples], device=answers.device)
    return torch.stack(terms).mean() + nn.functional.binary_cross_entropy_with_logits(answers.float(), truth)


def save(model: CrossEncoder, file: Path, inputs: dict[str, Any], **more: Any) -> None:
    """Write weights, what the run was started with, and training state at once."""
    part = file.with_suffix(".part")
    torch.save({"model": model.state_dict(), "inputs": inputs, **more}, part)
    part.replace(file)


def mean_weights(model: nn.Module, other: nn.Module, share: float) -> dict[str, Tensor]:
    """Return the weights between those of two models; `share` is the other's."""
    others = other.state_dict()
    return {name: torch.lerp(weights, others[name], share) for name, weights in model.state_dict().items()}


def newest(run: Path) -> Path:
    """Return the file of a run's newest weights. It does not exist if nothing has been saved."""
    return run / FINISHED if (run / FINISHED).exists() else run / CHECKPOINT


def load_run(run: Path, base: Path) -> CrossEncoder:
    """Return the model of a run, finished or not, for reading."""
    model = CrossEncoder.from_base(base)
    model.load_state_dict(torch.load(newest(run), "cpu", weights_only=True)["model"])
    model.eval()
    return model
