"""Grounding DINO (Liu et al. 2023, arXiv:2303.05499) by transformers: photos and prompts to scored boxes.

`GroundingDinoDetector.from_pretrained(folder or hub id, accelerator)`, or the constructor with loaded
parts. Runs in a bare torch + transformers environment; the preprocessor is the one on Pillow, so that an
installed torchvision does not change the pixels.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoTokenizer, GroundingDinoForObjectDetection, GroundingDinoImageProcessorPil
from transformers.models.grounding_dino.modeling_grounding_dino import SPECIAL_TOKENS

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, load_model, load_part
from chassis.rgb import RGB
from services.cropper.engines.detection import MARKS, PromptWriter

DEFAULT_MODEL = "IDEA-Research/grounding-dino-tiny"

CANVAS_STEP = 64
"""Photos are padded to the next multiple, in pixels of the model's own scale."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One item of a forward pass: a photo, (3, h, w), scaled and normalised, and a prompt's token ids."""

    pixels: Floats
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The results of the model's queries.

    `corners` (queries, 4): left, top, right, bottom in fractions of the photo. `scores` (queries,
    tokens): how well each box fits each token, 0..1.
    """

    corners: Floats
    scores: Floats


class GroundingDinoDetector:
    """The model with its preprocessor and prompts."""

    def __init__(self, model: Any, image_processor: Any, tokenizer: Any, accelerator: Accelerator) -> None:
        """Loaded parts; `model` is a `GroundingDinoForObjectDetection` on the accelerator, in `eval` mode.

        Raises `WrongWeights` when the tokenizer is not the one that the model was trained with.
        """
        if tokenizer.convert_tokens_to_ids(list(MARKS)) != SPECIAL_TOKENS:
            raise WrongWeights(
                "Grounding DINO needs BERT's uncased vocabulary: its marks have other numbers."
            )
        self.prompts = PromptWriter(tokenizer, model.config.max_text_len)
        self._model = model
        self._image_processor = image_processor
        self._accelerator = accelerator

    @classmethod
    def from_pretrained(cls, source: str, accelerator: Accelerator) -> Self:
        """The weights in a local folder or on the hub. Raises `WrongWeights`.

        They stay float32 whatever the accelerator's number type: see `_autocast`.
        """
        return cls(
            load_model(GroundingDinoForObjectDetection, source, replace(accelerator, dtype="float32")),
            load_part(GroundingDinoImageProcessorPil, source),
            load_part(AutoTokenizer, source),
            accelerator,
        )

    def prepare(self, photo: RGB) -> Floats:
        """(3, h, w): the photo in the model's scale, once for all its prompts."""
        pixels: Floats = self._image_processor(photo, do_pad=False, return_tensors="np")["pixel_values"][0]
        return pixels

    def forward(self, sights: Sequence[Sight]) -> list[Boxes]:
        """One result a sight, in order.

        Photos on the same canvas share a pass. The canvas follows from the photo alone, never from its
        neighbours: the backbone's windows and the group norms see the padding, mask or no mask, so padding
        to the largest of a batch would let the photos of other clients change the boxes.
        """
        by_canvas: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place, sight in enumerate(sights):
            by_canvas[_canvas(sight.pixels)].append(place)
        results: dict[int, Boxes] = {}
        for canvas, places in by_canvas.items():
            boxes = self._pass([sights[place] for place in places], canvas)
            results.update(zip(places, boxes, strict=True))
        return [results[place] for place in range(len(sights))]

    def _pass(self, sights: Sequence[Sight], canvas: tuple[int, int]) -> list[Boxes]:
        with torch.inference_mode(), self._autocast():
            output = self._model(**self._inputs(sights, canvas))
        centres = output.pred_boxes.float()
        middle, half = centres[..., :2], centres[..., 2:] / 2
        corners = self._accelerator.to_numpy(torch.cat([middle - half, middle + half], dim=-1))
        scores = self._accelerator.to_numpy(output.logits.float().sigmoid())
        return [
            Boxes(corners[row], scores[row, :, : len(sight.token_ids)]) for row, sight in enumerate(sights)
        ]

    def _inputs(self, sights: Sequence[Sight], canvas: tuple[int, int]) -> dict[str, Any]:
        longest = max(len(sight.token_ids) for sight in sights)
        pixels = np.zeros((len(sights), 3, *canvas), np.float32)
        pixel_mask = np.zeros((len(sights), *canvas), np.int64)
        token_ids = np.zeros((len(sights), longest), np.int64)
        token_mask = np.zeros((len(sights), longest), np.int64)
        for row, sight in enumerate(sights):
            _, height, width = sight.pixels.shape
            pixels[row, :, :height, :width] = sight.pixels
            pixel_mask[row, :height, :width] = 1
            token_ids[row, : len(sight.token_ids)] = sight.token_ids
            token_mask[row, : len(sight.token_ids)] = 1
        arrays = {
            "pixel_values": pixels,
            "pixel_mask": pixel_mask,
            "input_ids": token_ids,
            "attention_mask": token_mask,
        }
        return {name: torch.from_numpy(each).to(self._accelerator.device) for name, each in arrays.items()}

    def _autocast(self) -> AbstractContextManager[object]:
        """Matrix products in the accelerator's number type, coordinates in float32.

        With weights in bfloat16 the boxes would be too: 8 bits are steps of 5 pixels in a photo of 1,280.
        """
        if self._accelerator.dtype == "float32":
            return nullcontext()
        kind = torch.device(self._accelerator.device).type
        scope: AbstractContextManager[object] = torch.autocast(kind, self._accelerator.torch_dtype)
        return scope


def _canvas(pixels: Floats) -> tuple[int, int]:
    _, height, width = pixels.shape
    return -(-height // CANVAS_STEP) * CANVAS_STEP, -(-width // CANVAS_STEP) * CANVAS_STEP
