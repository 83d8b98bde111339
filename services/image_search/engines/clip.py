"""CLIP (Radford et al., "Learning Transferable Visual Models From Natural Language Supervision", 2021) by
open_clip: a photo's views, and texts, to unit vectors of one space.

Runs in a bare torch environment with open_clip.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from chassis.accelerator import Accelerator
from chassis.models.pretrained import LOADING, WrongWeights
from chassis.rgb import RGB
from services.image_search.engine import Floats
from services.image_search.engines.views import Fit, Frame, framed_views

DEFAULT_MODEL = "ViT-L-14-336-quickgelu:openai"
"""OpenAI's weights were trained with QuickGELU; the architecture without it loads them and is wrong."""

_HUB, _FOLDER = "hf-hub:", "local-dir:"
_PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


class ClipEncoder:
    """Views of photos, and texts, to L2-normalised vectors. The text tower is kept where `texts` says so."""

    def __init__(self, model: str, accelerator: Accelerator, *, texts: bool = False) -> None:
        """`model`: a folder with `open_clip_config.json` and weights, `hf-hub:org/name` (or `org/name`), or
        `ARCHITECTURE:WEIGHTS` with one of open_clip's tags or a file. Raises `WrongWeights`.
        """
        source = model or DEFAULT_MODEL
        self.name = Path(source).name if Path(source).is_dir() else source
        self._accelerator = accelerator
        model_of_both = _load(source, accelerator)
        self._tower = model_of_both.visual.to(accelerator.device)
        self._text: Any = model_of_both.to(accelerator.device) if texts else None
        self._tokenize: Any = _tokenizer(source) if texts else None
        settings = self._tower.preprocess_cfg
        self._frame = _frame(settings)
        self._mean = self._channels(settings["mean"])
        self._deviation = self._channels(settings["std"])
        self.size = self._measure(source)

    def views(self, photo: RGB) -> list[RGB]:
        """Return the model's views of a photo, the centre first: (height, width, 3) each, of one size."""
        return framed_views(photo, self._frame)

    def forward(self, views: Sequence[RGB]) -> list[Floats]:
        """One unit vector of `size` float32 a view, in one pass."""
        with torch.inference_mode():
            pixels: Any = torch.from_numpy(np.stack(views)).to(self._accelerator.device)
            features = self._tower(self.scaled(pixels).to(self._accelerator.torch_dtype))
            if isinstance(features, tuple):  # towers that return their tokens as well
                features = features[0]
            unit = torch.nn.functional.normalize(features.float(), dim=-1)
            return list(self._accelerator.to_numpy(unit))

    def forward_texts(self, texts: Sequence[str]) -> list[Floats]:
        """One unit vector of `size` float32 a text, in one pass; of a long one the beginning is read.

        Only where the text tower is kept.
        """
        with torch.inference_mode():
            tokens = self._tokenize(list(texts)).to(self._accelerator.device)
            features = self._text.encode_text(tokens)
            unit = torch.nn.functional.normalize(features.float(), dim=-1)
            return list(self._accelerator.to_numpy(unit))

    def scaled(self, pixels: Any) -> Any:
        """Bytes (n, height, width, 3) to the standardised float32 (n, 3, height, width) of the training."""
        return (pixels.permute(0, 3, 1, 2).float() / 255 - self._mean) / self._deviation

    def _channels(self, values: Sequence[float]) -> Any:
        return torch.tensor(values, device=self._accelerator.device).view(1, 3, 1, 1)

    def _measure(self, source: str) -> int:
        grey = np.full((self._frame.height, self._frame.width, 3), 127, np.uint8)
        try:
            (vector,) = self.forward([grey])
            sizes = {len(each) for each in self.forward_texts(["grey"])} if self._text is not None else set()
        except FloatingPointError as error:
            raise WrongWeights(
                f"The CLIP model {source!r} gives no finite numbers as {self._accelerator.dtype}."
            ) from error
        if sizes - {len(vector)}:
            raise WrongWeights(f"The CLIP model {source!r} has texts and pictures in spaces of two sizes.")
        return len(vector)


def _load(source: str, accelerator: Accelerator) -> Any:
    open_clip = _open_clip()
    name, weights = _split(source)
    if weights is not None:
        _require_known(open_clip, name, weights)
    try:
        with LOADING:
            model = open_clip.create_model(
                name,
                weights,
                precision=_PRECISIONS[accelerator.dtype],
                require_pretrained=True,
                weights_only=True,
            )
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WrongWeights(f"CLIP cannot be loaded from {source!r}: {reason}") from error
    return model.eval()


def _tokenizer(source: str) -> Any:
    try:
        with LOADING:
            return _open_clip().get_tokenizer(_split(source)[0])
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WrongWeights(f"The tokenizer of CLIP {source!r} cannot be loaded: {reason}") from error


def _open_clip() -> Any:
    try:
        import open_clip
    except (ImportError, RuntimeError) as error:  # torchvision of another build raises RuntimeError
        raise WrongWeights(
            f"engine=clip needs open_clip_torch and the torchvision that was built for this torch: {error}"
        ) from error
    return open_clip


def _split(source: str) -> tuple[str, str | None]:
    """open_clip's model name and its pretrained tag or file."""
    if Path(source).is_dir():
        return _FOLDER + source, None
    if source.startswith((_HUB, _FOLDER)):
        return source, None
    architecture, colon, weights = source.partition(":")
    if colon and weights:
        return architecture, weights
    if source.startswith(("/", ".", "~")):
        raise WrongWeights(f"There is no folder {source!r} to load CLIP from.")
    if "/" in source:
        return _HUB + source, None
    raise WrongWeights(f"{source!r} names no weights; write ARCHITECTURE:TAG, a folder or a hub id.")


def _require_known(open_clip: Any, architecture: str, weights: str) -> None:
    """open_clip only warns when the activation is another than the weights were trained with."""
    config = open_clip.get_model_config(architecture)
    if config is None:
        raise WrongWeights(f"open_clip knows no architecture {architecture!r}.")
    trained = open_clip.get_pretrained_cfg(architecture, weights)
    if not trained and not Path(weights).is_file():
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(architecture)) or "none"
        raise WrongWeights(f"open_clip knows no weights {weights!r} for {architecture} (it knows {tags}).")
    quick = bool(trained.get("quick_gelu", False))
    if trained and quick != bool(config.get("quick_gelu", False)):
        fitting = f"{architecture}-quickgelu" if quick else architecture.removesuffix("-quickgelu")
        raise WrongWeights(f"The weights {weights!r} belong to {fitting}, not to {architecture}.")


def _frame(settings: dict[str, Any]) -> Frame:
    size = settings["size"]
    height, width = (size, size) if isinstance(size, int) else size
    fit = settings.get("resize_mode", Fit.SHORTEST)
    if fit not in list(Fit):
        raise WrongWeights(f"CLIP models that fit photos by {fit!r} are not supported.")
    return Frame(height, width, Fit(fit), settings.get("interpolation") != "bilinear")
