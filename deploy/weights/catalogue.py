"""Which weights the production engines ask for, where they are published, and which settings point at them.

Repositories are the engines' own defaults; a test compares them, so that none of torch is needed here.
Sizes are for planning a disk, computed from the numbers of parameters; before a fetch the hub is asked.
"""

from dataclasses import dataclass

from services.speech.presets import HEARS
from services.speech.presets import Preset as SpeechPreset
from services.vlm.presets import Preset

FOLDER = "/weights"
"""Where the volume is in every container. CLIP's name in an index holds this path: keep it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """One repository. `used_by`: apps; `variables`: what they are to be told, `{folder}` being where it is;
    `files`: the weights' names where a repository holds the same ones in several formats, best first.
    """

    repository: str
    used_by: tuple[str, ...]
    gb: float
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ("*.safetensors", "*.bin")

    @property
    def name(self) -> str:
        """Its folder's."""
        return self.repository.rpartition("/")[2]


_BLIP2 = Weights(
    "Salesforce/blip2-itm-vit-g",
    ("domain_router", "reranker"),
    4.7,
    (("LOREGLASS_DOMAIN_ROUTER_MODEL", "{folder}"), ("LOREGLASS_RERANKER_COARSE_MODEL", "{folder}")),
)
_GROUNDING_DINO = Weights(
    "IDEA-Research/grounding-dino-tiny", ("cropper",), 0.7, (("LOREGLASS_CROPPER_MODEL", "{folder}"),)
)
_CLIP_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_CLIP = Weights(
    "timm/vit_large_patch14_clip_336.openai",
    ("image_search",),
    1.7,
    # The architecture by name: with another activation the same weights load and see something else.
    (("LOREGLASS_IMAGE_SEARCH_MODEL", f"ViT-L-14-336-quickgelu:{{folder}}/{_CLIP_FILES[0]}"),),
    _CLIP_FILES,
)
_BGE = Weights(
    "BAAI/bge-large-en-v1.5", ("text_search",), 1.3, (("LOREGLASS_TEXT_SEARCH_MODEL", "{folder}"),)
)
_QWEN3_RERANKER = Weights(
    "Qwen/Qwen3-Reranker-0.6B", ("reranker",), 1.2, (("LOREGLASS_RERANKER_FINE_MODEL", "{folder}"),)
)
_READER = Weights(
    "deepset/minilm-uncased-squad2", ("reader",), 0.1, (("LOREGLASS_READER_MODEL", "{folder}"),)
)
SERVICES = (_BLIP2, _GROUNDING_DINO, _CLIP, _BGE, _QWEN3_RERANKER, _READER)


def vlm(preset: Preset) -> Weights:
    """The model server's; its command is told the folder by `--model`."""
    return Weights(preset.model, ("vlm",), preset.weights_gb)


def speech(preset: SpeechPreset) -> Weights:
    """What a server of speech reads; its command names the file."""
    return Weights(preset.repository, (HEARS,), preset.weights_gb, files=(preset.file,))


def environment(folder: str = FOLDER) -> str:
    """`weights.env`: the services' settings once the volume is filled."""
    lines = [
        "# Where `python -m deploy.weights` puts the weights; written by its --env. The domain router's head",
        "# is not among them (README.md). A service without a variable here has no weights.",
    ]
    for weights in SERVICES:
        place = f"{folder}/{weights.name}"
        lines += [f"{name}={value.format(folder=place)}" for name, value in weights.variables]
    return "\n".join(lines) + "\n"
