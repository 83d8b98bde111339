"""Sentence vectors by a BERT-like encoder: BAAI/bge-large-en-v1.5 unless another one is named.

Source: Xiao et al., "C-Pack: Packed Resources For General Chinese Embeddings" (SIGIR 2024), the BGE models.
Why the model is called directly and not by the FlagEmbedding package: docs/decisions/0003. Runs in a bare
torch + transformers environment.
"""

import threading
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, load_model, load_part
from services.text_search.engine import Forward, Instructions, Pooling, TokenIds, Vector, model_name

DEFAULT_MODEL = "BAAI/bge-large-en-v1.5"


class BgeModel:
    """Tokenizer and weights. `forward` does not depend on what else is in the batch."""

    def __init__(
        self,
        source: str,
        accelerator: Accelerator,
        pooling: Pooling = Pooling.CLS,
        max_tokens: int = 512,
    ) -> None:
        """Load a local folder or a hub id. Raises `WrongWeights`.

        `max_tokens`: longer texts are cut there, or earlier where the model's own limit is lower.
        """
        self._pooling = pooling
        self._accelerator = accelerator
        self._tokenizer = load_part(AutoTokenizer, source)
        self._tokenizing = threading.Lock()  # cutting texts is a state of the tokenizer
        _require_cls(self._tokenizer, source)
        self._model = load_model(AutoModel, source, accelerator)
        config = self._model.config
        if len(self._tokenizer) > config.vocab_size:
            raise WrongWeights(
                f"{source!r}: the tokenizer has {len(self._tokenizer)} tokens, the model {config.vocab_size}."
            )
        self._longest = min(max_tokens, self._tokenizer.model_max_length, config.max_position_embeddings)
        self.name = f"{model_name(source)} ({self._pooling} pooling)"
        self.size = int(config.hidden_size)

    def tokenize(self, texts: Sequence[str]) -> list[TokenIds]:
        """Token ids with [CLS] and [SEP], each text cut at the model's limit."""
        if not texts:
            return []
        with self._tokenizing:
            ids = self._tokenizer(list(texts), truncation=True, max_length=self._longest)["input_ids"]
        return [tuple(each) for each in ids]

    def forward(self, items: Sequence[TokenIds]) -> list[Vector]:
        """One unit vector for each tokenised text."""
        longest = max(map(len, items))
        ids = torch.full((len(items), longest), self._tokenizer.pad_token_id, dtype=torch.long)
        mask = torch.zeros((len(items), longest), dtype=torch.long)
        for row, item in enumerate(items):
            ids[row, : len(item)] = torch.tensor(item)
            mask[row, : len(item)] = 1
        with torch.inference_mode():
            device = self._accelerator.device
            vectors = self._vectors(ids.to(device), mask.to(device))
        return list(self._accelerator.to_numpy(vectors))

    def _vectors(self, ids: Any, mask: Any) -> Any:
        """[n, tokens] -> [n, size], float32, of unit length."""
        states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        if self._pooling is Pooling.CLS:
            pooled = states[:, 0]
        else:
            weights = mask.unsqueeze(-1).float()
            pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return torch.nn.functional.normalize(pooled, dim=-1)


class BgeEncoder:
    """`TextEncoder` by a `BgeModel`; `forward` is the model's own or one shared with other callers."""

    def __init__(
        self,
        model: BgeModel,
        forward: Forward | None = None,
        instructions: Instructions | None = None,
        max_batch: int = 16,
    ) -> None:
        self._model = model
        self._forward = forward or model.forward
        self._instructions = instructions or Instructions()
        self._max_batch = max_batch
        self.size = model.size
        self.name = self._instructions.name_of(model.name)

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        return self._encode([self._instructions.query + text for text in texts])

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        return self._encode([self._instructions.passage + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors, from batches of texts of similar length, which need little padding."""
        items = self._model.tokenize(texts)
        by_length = sorted(range(len(items)), key=lambda place: len(items[place]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(items), self._max_batch):
            places = by_length[start : start + self._max_batch]
            computed = self._forward([items[place] for place in places])
            vectors.update(zip(places, computed, strict=True))
        return [vectors[place] for place in range(len(items))]


def _require_cls(tokenizer: Any, source: str) -> None:
    """Refuse decoders and two-tower models, which load as an `AutoModel` too."""
    first = tokenizer("text")["input_ids"][0]
    if tokenizer.cls_token_id is None or first != tokenizer.cls_token_id or tokenizer.pad_token_id is None:
        raise WrongWeights(f"{source!r} is no BERT-like text encoder: its texts do not begin with [CLS].")
