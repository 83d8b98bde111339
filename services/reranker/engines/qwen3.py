"""Qwen3-Reranker: a language model that says whether a document answers a question, yes or no.

Source: Zhang et al. 2025, arXiv:2506.05176, and the model card of Qwen/Qwen3-Reranker-0.6B, whose template
(system line, Instruct/Query/Document, empty thought) is part of the model's interface. Runs in a bare
torch + transformers environment.
"""

import re
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, Self

import torch
from transformers import AutoTokenizer, Qwen3ForCausalLM

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, load_model, load_part
from services.reranker.engine import INSTRUCTION

DEFAULT_MODEL = "Qwen/Qwen3-Reranker-0.6B"

_PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the"
    ' Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
_HEAD = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>:"
_SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

_LETTERS_PER_TOKEN = 32
"""More than any language needs: a text is cut there before it is tokenized."""
_DOCUMENT_TOKENS = 512
"""The head of a longer document is read."""
_PASS_TOKENS = 16_384
"""Padded tokens in one pass."""


class Qwen3Reranker:
    """P(yes) of (query, document) pairs. Thread-safe."""

    def __init__(self, model: Any, tokenizer: Any, accelerator: Accelerator) -> None:
        """Loaded parts; `model` is a `Qwen3ForCausalLM` on the accelerator, in `eval` mode.

        Raises `WrongWeights` when tokenizer and model do not belong together.
        """
        self._model = model
        self._tokenizer = tokenizer
        self._accelerator = accelerator
        self._lock = Lock()  # a fast tokenizer cannot be used by two threads at once
        if len(tokenizer) > model.config.vocab_size:
            raise WrongWeights(
                f"The tokenizer has {len(tokenizer)} tokens, the model {model.config.vocab_size}."
            )
        self._answers = [self._single_token(word) for word in ("no", "yes")]
        self._controls = _controls(tokenizer.get_added_vocab())
        self._prefix = self._ids([_PREFIX])[0]
        self._suffix = self._ids([_SUFFIX])[0]
        self._room = model.config.max_position_embeddings - len(self._prefix) - len(self._suffix)

    @classmethod
    def from_pretrained(cls, source: str, accelerator: Accelerator) -> Self:
        """The model in a local folder or of a hub id. Raises `WrongWeights`."""
        model = load_model(Qwen3ForCausalLM, source, accelerator)
        return cls(model, load_part(AutoTokenizer, source), accelerator)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """P(yes) in 0..1 of each (query, document), in order (equation 3)."""
        prompts = self._prompts(pairs)
        scores = [0.0] * len(pairs)
        for places in _passes([len(prompt) for prompt in prompts], _PASS_TOKENS):
            for place, score in zip(places, self._forward([prompts[p] for p in places]), strict=True):
                scores[place] = score
        return scores

    def _forward(self, prompts: Sequence[Sequence[int]]) -> list[float]:
        """Padded on the left, so that each row's last position is where the answer begins."""
        longest = max(map(len, prompts))
        padding = self._tokenizer.pad_token_id or 0
        rows = [[padding] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        masks = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        mask = torch.tensor(masks, device=self._accelerator.device)
        with torch.inference_mode():
            logits = self._model(
                input_ids=torch.tensor(rows, device=self._accelerator.device),
                attention_mask=mask,
                position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
                use_cache=False,
                logits_to_keep=1,
            ).logits[:, -1, self._answers]
            probabilities = self._accelerator.to_numpy(logits.float().softmax(-1)[:, 1])
        return [float(each) for each in probabilities]

    def _prompts(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        heads = {query: self._head(query) for query in dict.fromkeys(query for query, _ in pairs)}
        # The space belongs to the document: byte-level BPE never joins it to the colon before it.
        bodies = self._ids(
            [" " + self._plain(text[: _DOCUMENT_TOKENS * _LETTERS_PER_TOKEN]) for _, text in pairs]
        )
        prompts = []
        for (query, _), body in zip(pairs, bodies, strict=True):
            head = heads[query]
            cut = body[: max(0, min(_DOCUMENT_TOKENS, self._room - len(head)))]
            prompts.append([*self._prefix, *head, *cut, *self._suffix])
        return prompts

    def _head(self, query: str) -> list[int]:
        """Instruction and query; a query that would leave less than half of the room is shortened."""
        while True:
            text = _HEAD.format(instruction=INSTRUCTION, query=self._plain(query))
            ids = self._ids([text])[0]
            if len(ids) <= self._room // 2 or not query:
                return ids
            query = query[: len(query) * 3 // 4]

    def _plain(self, text: str) -> str:
        """Without control tokens: a page must not be able to end its own prompt and answer for the model."""
        return self._controls.sub(lambda token: f"< {token[0][1:]}", text)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        with self._lock:
            ids: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return ids

    def _single_token(self, word: str) -> int:
        ids = self._ids([word])[0]
        if len(ids) != 1:
            raise WrongWeights(f"The tokenizer has no single token for {word!r}.")
        return ids[0]


def _controls(added: Sequence[str]) -> re.Pattern[str]:
    written = [re.escape(token) for token in added if token.startswith("<")]
    return re.compile("|".join(written) or r"(?!)")


def _passes(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of the prompts of each pass, longest first: at least one, `tokens` with padding at most."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while order:
        rows = max(1, tokens // lengths[order[0]])
        yield order[:rows]
        order = order[rows:]
