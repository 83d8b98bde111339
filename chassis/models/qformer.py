"""BLIP-2's Q-Former: questions with their photo, photos, and texts (Li et al. 2023, arXiv:2301.12597).

`QFormer.from_pretrained(folder or hub id, accelerator)`, or the constructor with loaded parts, gives
- `encode_questions(pairs)`: per (question, photo or None) the query tokens' hidden states (N_q, hidden);
- `photo_vectors(photos)`: the query tokens that see the photo alone, as unit vectors (N_q, d) of the space
  that photos and texts share;
- `text_vectors(texts)`: a text's [CLS] as a unit vector of that space, (d,);
- `prepare` and `question_states`: the two halves of `encode_questions`.

The shared space was trained contrastively with query tokens that see no text (section 3.1, ITC): its
projections mean nothing for `encode_questions`, whose tokens attend to the question as well, as in BLIP-2's
image-text matching. Without a photo, that shows the Q-Former a plain picture of the mean colour (zeros after
normalisation), since its layers cannot skip their cross-attention.
Who else is in a batch does not matter: padding is masked.

`witness` and `require_witness` show whether a trained part and a base model belong together: another
checkpoint of one size fits as well, and everything computed with it would mean nothing.
Runs in a bare torch + transformers environment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize
from transformers import AutoImageProcessor, AutoTokenizer, Blip2ForImageTextRetrieval

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, load_model, load_part

DEFAULT_MODEL = "Salesforce/blip2-itm-vit-g"

Question = tuple[str, NDArray[np.uint8] | None]
"""A question and its photo (height, width, 3), if there is one."""
Vectors = NDArray[np.float32]

_SAME_DIRECTION = 0.85  # cosine: tiny models give above 0.99 in bfloat16, below 0.3 with other weights
_LETTERS_PER_TOKEN = 32
"""More than any language needs: a text is cut there before it is tokenized."""


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """Tensors on the accelerator; `photos[i]`: the row of `pixels` that question i looks at, -1 for none."""

    token_ids: Any
    token_mask: Any
    pixels: Any
    photos: tuple[int, ...]


class QFormer:
    """The Q-Former with the vision tower before it and the two projections behind it."""

    def __init__(self, model: Any, image_processor: Any, tokenizer: Any, accelerator: Accelerator) -> None:
        """Loaded parts; `model` is a `Blip2ForImageTextRetrieval` on the accelerator, in `eval` mode.

        Raises `WrongWeights` when tokenizer and model do not belong together.
        """
        settings = model.config.qformer_config
        if not settings.use_qformer_text_input:
            raise WrongWeights("This Q-Former reads no text: a BLIP-2 image-text-retrieval model is needed.")
        if len(tokenizer) > settings.vocab_size:
            raise WrongWeights(
                f"The tokenizer has {len(tokenizer)} tokens, the Q-Former {settings.vocab_size}."
            )
        self.model = model
        self.accelerator = accelerator
        self.hidden_size: int = settings.hidden_size
        self.vector_size: int = model.config.image_text_hidden_size
        self.longest_text: int = settings.max_position_embeddings
        self._images = image_processor
        self._tokenizer = tokenizer
        self._lock = Lock()  # a fast tokenizer cannot be used by two threads at once
        with torch.no_grad():  # not inference mode: training needs it too
            size = self._images.size
            self._no_photo = self._look(torch.zeros(1, 3, int(size["height"]), int(size["width"])))

    @classmethod
    def from_pretrained(cls, source: str, accelerator: Accelerator) -> Self:
        """The model in a local folder or of a hub id. Raises `WrongWeights`."""
        return cls(
            load_model(Blip2ForImageTextRetrieval, source, accelerator),
            # Pillow's resize gives the same pixels whether or not torchvision is installed.
            load_part(AutoImageProcessor, source, backend="pil"),
            load_part(AutoTokenizer, source),
            accelerator,
        )

    def encode_questions(self, pairs: Sequence[Question]) -> list[Vectors]:
        """Per pair the query tokens' last hidden states, (N_q, `hidden_size`)."""
        if not pairs:
            return []
        with torch.inference_mode():
            return list(self.accelerator.to_numpy(self.question_states(self.prepare(pairs))))

    def photo_vectors(self, photos: Sequence[NDArray[np.uint8]]) -> list[Vectors]:
        """Per photo unit vectors (N_q, `vector_size`)."""
        if not photos:
            return []
        with torch.inference_mode():
            looks = self._look(self._pixels(photos))
            states = self.model.qformer(
                query_embeds=self.model.query_tokens.expand(len(looks), -1, -1),
                encoder_hidden_states=looks,
                encoder_attention_mask=torch.ones(looks.shape[:2], dtype=torch.long, device=looks.device),
            ).last_hidden_state
            return list(self.accelerator.to_numpy(_project(self.model.vision_projection, states)))

    def text_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Each text's [CLS] as a unit vector (`vector_size`,); the head of a text that is too long."""
        if not texts:
            return []
        with torch.inference_mode():
            token_ids, mask = self._tokens(texts)
            states = self.model.qformer(
                query_embeds=self.model.embeddings(input_ids=token_ids), query_length=0, attention_mask=mask
            ).last_hidden_state
            return list(self.accelerator.to_numpy(_project(self.model.text_projection, states[:, 0])))

    def prepare(self, pairs: Sequence[Question]) -> QuestionBatch:
        """Tokens and pixels of a batch, on the accelerator; at least one pair."""
        token_ids, mask = self._tokens([text for text, _ in pairs])
        photos = [photo for _, photo in pairs if photo is not None]
        order = iter(range(len(photos)))
        rows = tuple(-1 if photo is None else next(order) for _, photo in pairs)
        return QuestionBatch(token_ids, mask, self._pixels(photos) if photos else None, rows)

    def question_states(self, batch: QuestionBatch) -> Any:
        """The query tokens' last hidden states, a tensor (batch, N_q, `hidden_size`); keeps gradients."""
        looks = (
            self._no_photo if batch.pixels is None else torch.cat([self._look(batch.pixels), self._no_photo])
        )
        photos = looks[list(batch.photos)]  # -1 is the last row: no photo
        queries = self.model.query_tokens.expand(len(photos), -1, -1)
        queries_mask = torch.ones(queries.shape[:2], dtype=torch.long, device=queries.device)
        states = self.model.qformer(
            query_embeds=self.model.embeddings(input_ids=batch.token_ids, query_embeds=queries),
            query_length=queries.shape[1],
            attention_mask=torch.cat([queries_mask, batch.token_mask], dim=1),
            encoder_hidden_states=photos,
            encoder_attention_mask=torch.ones(photos.shape[:2], dtype=torch.long, device=photos.device),
        ).last_hidden_state
        return states[:, : queries.shape[1]]

    def _look(self, pixels: Any) -> Any:
        vision = self.model.vision_model
        pixels = pixels.to(self.accelerator.device, next(vision.parameters()).dtype)
        return vision(pixel_values=pixels).last_hidden_state

    def _pixels(self, photos: Sequence[NDArray[np.uint8]]) -> Any:
        prepared = self._images(images=list(photos), return_tensors="pt", input_data_format="channels_last")
        return prepared["pixel_values"].to(self.accelerator.device)

    def _tokens(self, texts: Sequence[str]) -> tuple[Any, Any]:
        letters = self.longest_text * _LETTERS_PER_TOKEN
        with self._lock:
            encoded = self._tokenizer(
                [text[:letters] for text in texts],
                padding=True,
                truncation=True,
                max_length=self.longest_text,
                padding_side="right",
                return_tensors="pt",
            )
        encoded = encoded.to(self.accelerator.device)
        return encoded["input_ids"], encoded["attention_mask"]


def _project(projection: Any, states: Any) -> Any:
    return normalize(projection(states.to(projection.weight.dtype)).float(), dim=-1)


def witness(qformer: QFormer) -> Vectors:
    """(N_q, features): by how much the query tokens differ for two fixed questions about two fixed pictures.

    The difference, since what all inputs have in common would make other weights look alike.
    """
    ramp = np.linspace(0, 255, 96)
    across, down = np.meshgrid(ramp, ramp)
    card = np.stack([across, down, 255 * (across // 64 % 2)], axis=-1).astype(np.uint8)
    questions = [("What is the name of this, and where is it?", card), ("How old is it?", 255 - card[::-1])]
    one, other = qformer.encode_questions(questions)
    return one - other


def require_witness(qformer: QFormer, expected: Vectors, trained: str) -> None:
    """Raise `WrongWeights` unless the witness is the `expected` one, of the base model of the training."""
    actual = witness(qformer)
    lengths = float(np.linalg.norm(actual) * np.linalg.norm(expected))
    comparable = lengths and actual.shape == expected.shape
    likeness = float((actual * expected).sum()) / lengths if comparable else 0.0
    if not likeness >= _SAME_DIRECTION:  # a NaN is not
        raise WrongWeights(
            f"The {trained} was not trained on this base model: for two fixed questions their features have"
            f" a cosine of {likeness:.2f}."
        )
