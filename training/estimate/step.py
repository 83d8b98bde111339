"""One step of training or writing on one card, with tensors that have a size and no numbers.

The model's own code runs, LoRA and checkpointing included, so that nothing here repeats how it is built.
Photos are left out: the vision tower is frozen, and what it holds is gone before the language model's peak.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measured:
    """`held`: bytes of weights and LoRA; `peak`: with all that a step needs, the gradients of the LoRA too;
    `flops`: of its products.
    """

    held: int
    peak: int
    flops: int

    @property
    def step(self) -> int:
        """Bytes that come and go with the step."""
        return self.peak - self.held


@dataclass(frozen=True, slots=True)
class Batch:
    """`sequences` of `tokens` each. `scored`: as many of the last are learnt; 0: all are only read, and their
    keys and values kept, to write on from.
    """

    sequences: int
    tokens: int
    scored: int = 0


def measured(skeleton: Any, batch: Batch, dtype: str) -> Measured:
    """What PEFT's model of shapes alone takes for a batch; `dtype`: what it computes in."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from training.estimate.watching import Watched

    with FakeTensorMode(allow_non_fake_inputs=True), _given_storage(skeleton), _whole_sequences():
        watched = Watched([*skeleton.parameters(), *skeleton.buffers()])
        held = watched.held
        if not batch.scored:
            skeleton.eval()
            with watched, torch.no_grad():
                kept = _decoded(skeleton, batch, use_cache=True)
                skeleton.get_output_embeddings()(kept.last_hidden_state[:, -1:]).float()
        else:
            skeleton.train()
            lower = {"dtype": getattr(torch, dtype), "enabled": dtype != "float32"}
            with watched, torch.autocast("cpu", **lower):
                _loss(skeleton, batch).backward()
    return Measured(held, watched.peak, watched.flops)


def _loss(skeleton: Any, batch: Batch) -> Any:
    """By the function of TRL's trainers, which never holds all logits at once."""
    import torch
    from trl.kernels import ChunkedLogProbFunction
    from trl.trainer.utils import _CHUNKED_LOGPROB_CHUNK_SIZE

    hidden = _decoded(skeleton, batch).last_hidden_state[:, -batch.scored :].flatten(0, 1)
    words = torch.zeros(hidden.shape[0], dtype=torch.long)
    weight = skeleton.get_output_embeddings().weight
    scores = ChunkedLogProbFunction.apply(hidden, weight, None, words, 1.0, _CHUNKED_LOGPROB_CHUNK_SIZE)
    return scores[0].mean()


def _decoded(skeleton: Any, batch: Batch, *, use_cache: bool = False) -> Any:
    """Through the language model, from embedded words to the last layer."""
    import torch

    base = skeleton.get_base_model()
    text = base.config.get_text_config()
    dtype = next(base.get_decoder().parameters()).dtype
    embedded = torch.zeros(batch.sequences, batch.tokens, text.hidden_size, dtype=dtype)
    return base.get_decoder()(
        inputs_embeds=embedded, use_cache=use_cache, **_photo(base.config, batch, dtype)
    )


def _photo(config: Any, batch: Batch, dtype: Any) -> dict[str, Any]:
    """Of Mllama, which looks at the photo from layers of its own: what these are given."""
    import torch

    text, vision = config.get_text_config(), config.vision_config
    if not getattr(text, "cross_attention_layers", None):
        return {}
    seen = vision.max_num_tiles * ((vision.image_size // vision.patch_size) ** 2 + 1)
    rows = (batch.sequences, 1, batch.tokens)
    return {
        "cross_attention_states": torch.zeros(batch.sequences, seen, text.hidden_size, dtype=dtype),
        "cross_attention_mask": torch.zeros(*rows, seen, dtype=dtype),
        "full_text_row_masked_out_mask": torch.ones(*rows, 1, dtype=dtype),
    }


@contextmanager
def _whole_sequences() -> Iterator[None]:
    """No sequence is several in one, which transformers would have to see from numbers."""
    from transformers import masking_utils

    usual = masking_utils.find_packed_sequence_indices
    masking_utils.find_packed_sequence_indices = lambda _: None
    try:
        yield
    finally:
        masking_utils.find_packed_sequence_indices = usual


@contextmanager
def _given_storage(skeleton: Any) -> Iterator[None]:
    """Its weights on a pretended processor, which has attention that torch's `meta` device lacks."""
    import torch

    before = [(module, dict(module._parameters), dict(module._buffers)) for module in skeleton.modules()]
    moved: dict[int, Any] = {}
    for module, parameters, buffers in before:
        for name, each in parameters.items():
            if each is not None:  # tied weights stay one
                if id(each) not in moved:
                    empty = torch.empty(each.shape, dtype=each.dtype)
                    moved[id(each)] = torch.nn.Parameter(empty, each.requires_grad)
                module._parameters[name] = moved[id(each)]
        for name, each in buffers.items():
            if each is not None:
                module._buffers[name] = torch.empty(each.shape, dtype=each.dtype)
    try:
        yield
    finally:
        for module, parameters, buffers in before:
            module._parameters.update(parameters)
            module._buffers.update(buffers)
