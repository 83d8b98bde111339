"""The head that chooses what is said of a long sentence: where the clause that answers starts and ends.

It reads the layers of a fitted encoder, whose weights stay: their weighted mean (Peters et al., 2018,
equation 1) with marks of the answer's tokens, through two transformer layers. For each token it gives a logit
that a clause starts, one that it ends, and two vectors: their product tells whether a start and an end belong
together. A clause from [CLS] to [CLS] stands for none.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from tqdm import tqdm

from chassis.accelerator import CPU
from chassis.models.windows import question_text
from training.reader.fit import rate_at
from training.reader.model import CrossEncoder, tokens_of
from training.reader.rows import SpanPlace

_EPOCHS, _BATCH = 8, 32
_RATE = 7e-4
_SIZE, _LAYERS, _HEADS, _RANK = 192, 2, 4, 32


@dataclass(frozen=True, slots=True)
class ClauseRow:
    """A long sentence with the place of its answer, and of the clause to say; None where none can be said."""

    question: str
    sentence: str
    answer: SpanPlace
    clause: SpanPlace | None


@dataclass(frozen=True, slots=True, eq=False)
class ClauseExample:
    """A row as tokens. `answer`, `clause`: first and last token; (0, 0) for no clause."""

    ids: Tensor
    types: Tensor
    answer: tuple[int, int]
    clause: tuple[int, int]

    def kinds(self, draw: random.Random) -> Tensor:
        """Return 0 for the question, 1 for the sentence, 2 for its answer, half the time for a part of it.

        A reader often finds only a part of an answer.
        """
        first, last = self.answer
        if draw.random() < 0.5:
            first = draw.randint(first, last)
            last = draw.randint(first, last)
        kinds = self.types.clone()
        kinds[first : last + 1] = 2
        return kinds


def read_clauses(file: Path) -> list[ClauseRow]:
    """Return the rows of a file of JSON lines: `question`, `subject`, `sentence`, `answer` and `clause`."""
    rows = []
    for line in file.read_text("utf-8").splitlines():
        entry = json.loads(line)
        question = question_text(entry["question"], entry["subject"])
        clause = tuple(entry["clause"]) if entry["clause"] else None
        rows.append(ClauseRow(question, entry["sentence"], tuple(entry["answer"]), clause))
    return rows


class _Layer(nn.Module):  # type: ignore[misc]
    """Self-attention and two linear layers, each after a norm. torch's own has a fixed length as ONNX."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(_SIZE), nn.LayerNorm(_SIZE)
        self.heads, self.merge = nn.Linear(_SIZE, 3 * _SIZE), nn.Linear(_SIZE, _SIZE)
        self.widen, self.narrow = nn.Linear(_SIZE, 2 * _SIZE), nn.Linear(2 * _SIZE, _SIZE)
        self.drop = nn.Dropout(0.15)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        batch, tokens, _ = states.shape
        parts = self.heads(self.before(states)).view(batch, tokens, 3, _HEADS, _SIZE // _HEADS)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask[:, None, None, :] > 0
        )
        states = states + self.drop(self.merge(seen.transpose(1, 2).reshape(batch, tokens, _SIZE)))
        wide = self.drop(self.widen(self.between(states)).relu())
        return states + self.drop(self.narrow(wide))


class ClauseHead(nn.Module):  # type: ignore[misc]
    """`forward` takes the layers [batch, layers, tokens, hidden], kinds and mask [batch, tokens]."""

    def __init__(self, layers: int, hidden: int) -> None:
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(layers))
        self.reduce = nn.Sequential(nn.LayerNorm(hidden), nn.Dropout(0.2), nn.Linear(hidden, _SIZE))
        self.kinds = nn.Embedding(3, _SIZE)
        self.body = nn.ModuleList(_Layer() for _ in range(_LAYERS))
        self.span = nn.Linear(_SIZE, 2 + 2 * _RANK)

    def forward(self, layers: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        """Return [batch, tokens, 66]: logits of start and end, and their vectors of 32.

        `kinds`: 0 the question, 1 the sentence, 2 its answer.
        """
        mean = (layers * self.shares.softmax(0)[None, :, None, None]).sum(1)
        states = self.reduce(mean) + self.kinds(kinds)
        for layer in self.body:
            states = layer(states, mask)
        return self.span(states)


class ReadingModel(nn.Module):  # type: ignore[misc]
    """The cross-encoder with all its heads, as it is exported."""

    def __init__(self, model: CrossEncoder, head: ClauseHead) -> None:
        super().__init__()
        self.model, self.head = model, head

    def forward(
        self, ids: Tensor, types: Tensor, mask: Tensor, marks: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits of spans, of "it answers", and of clauses. `marks`: 1 for the answer's tokens."""
        layers = layers_of(self.model, ids, types, mask)
        spans, answers = self.model.heads(layers[:, -1])
        return spans, answers, self.head(layers, types + marks, mask)


def layers_of(model: CrossEncoder, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
    """Return the states after each layer of the encoder, [batch, layers, tokens, hidden]."""
    states = model.encoder(
        input_ids=ids, token_type_ids=types, attention_mask=mask, output_hidden_states=True
    )
    return torch.stack(states.hidden_states, 1)


def clause_example(row: ClauseRow, tokens: Tokenizer) -> ClauseExample | None:
    """Return a row as tokens; None if the sentence is too long for its answer or clause to be read."""
    encoded = tokens.encode(row.question, row.sentence)
    answer = tokens_of(row.answer, encoded)
    clause = tokens_of(row.clause, encoded) if row.clause else (0, 0)
    if answer is None or clause is None:
        return None
    return ClauseExample(torch.tensor(encoded.ids), torch.tensor(encoded.type_ids), answer, clause)


def fit_clauses(
    model: CrossEncoder, rows: Sequence[ClauseRow], tokens: Tokenizer, seed: int, device: str = CPU
) -> ClauseHead:
    """Train a head on the encoder of `model`, whose layers are computed once: about 0.4 MB a row."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    examples = [each for row in rows if (each := clause_example(row, tokens))]
    model.to(device)
    with torch.inference_mode():
        layers = [
            layers_of(model, ids, each.types[None].to(device), torch.ones_like(ids))[0].half()
            for each in tqdm(examples, unit="sentence", mininterval=10)
            for ids in [each.ids[None].to(device)]
        ]
    model.cpu()
    head = ClauseHead(layers[0].shape[0], layers[0].shape[2])
    head.to(device)
    optimizer = torch.optim.AdamW(head.parameters(), lr=_RATE, weight_decay=0.02)
    steps = _EPOCHS * -(-len(examples) // _BATCH)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, steps))
    head.train()
    lengths = [len(each.ids) for each in examples]
    for batch in tqdm(_batches(lengths, draw), total=steps, unit="step", mininterval=10):
        chosen = [examples[place] for place in batch]
        states = nn.utils.rnn.pad_sequence([layers[place].float().transpose(0, 1) for place in batch], True)
        kinds = nn.utils.rnn.pad_sequence([each.kinds(draw) for each in chosen], True).to(device)
        mask = nn.utils.rnn.pad_sequence([torch.ones_like(each.ids) for each in chosen], True).to(device)
        value = loss(head(states.transpose(1, 2), kinds, mask), kinds, [each.clause for each in chosen])
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    head.cpu().eval()
    return head


def loss(outputs: Tensor, kinds: Tensor, clauses: Sequence[tuple[int, int]]) -> Tensor:
    """Return the mean negative log likelihood of the clauses, among all that hold the answer, and none."""
    starts, ends = outputs[..., 2 : 2 + _RANK], outputs[..., 2 + _RANK :]
    scores = outputs[..., 0, None] + outputs[..., None, :, 1] + starts @ ends.transpose(1, 2) / _RANK**0.5
    answers = kinds == 2
    before = (kinds > 0) & (answers.cumsum(1) - answers.long() == 0)
    after = (kinds > 0) & (answers.flip(1).cumsum(1) - answers.flip(1).long() == 0).flip(1)
    possible = before[:, :, None] & after[:, None, :]
    rows, places = torch.arange(len(clauses)), torch.tensor(clauses)
    possible[:, 0, 0] = possible[rows, places[:, 0], places[:, 1]] = True
    likelihoods = scores.masked_fill(~possible, -torch.inf).flatten(1).log_softmax(1)
    return -likelihoods[rows, places[:, 0] * kinds.shape[1] + places[:, 1]].mean()


def _batches(lengths: Sequence[int], draw: random.Random) -> Iterator[list[int]]:
    """Yield the places of examples of like length."""
    for _ in range(_EPOCHS):
        order = sorted(range(len(lengths)), key=lambda place: lengths[place] * (1 + draw.random() / 4))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        yield from draw.sample(batches, len(batches))
