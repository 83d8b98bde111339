"""Measure each model engine on a GPU at its published size: `make bench-gpu`, or `--only bge`.

The models have random weights, which does not change how long a forward pass takes, so nothing is
downloaded. `--tiny` shrinks them, to try the script itself: `python -m bench.gpu --device cpu --tiny`.
"""

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

QUESTION = "the tower by the river was built in the summer of the second"
LABELS = ["tower", "bridge", "bottle", "flower", "wheel", "label"]
WORDS = [*dict.fromkeys(QUESTION.split()), *LABELS[1:], "is", "a", "on", "with", "and", "opened", "stone"]
"""One word is one token, so a passage of 200 tokens has 200 words."""
_BERT_MARKS = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
"""Their ids in BERT's uncased vocabulary, which Grounding DINO refers to."""
_TINY: dict[str, Any] = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64},
    **{"vocab_size": 1200, "num_key_value_heads": 2, "head_dim": 16, "encoder_hidden_size": 32},
    **{"image_size": 56, "embed_dim": 16, "depths": [1] * 4, "num_heads": [1, 2, 2, 4], "window_size": 4},
    **{"layers": 2, "width": 32, "head_width": 16, "heads": 2, "context_length": 16},
}
BGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
SWIN = {
    "image_size": 224,
    "embed_dim": 96,
    "depths": [2, 2, 6, 2],
    "num_heads": [3, 6, 12, 24],
    "window_size": 7,
}
VIT_G = {
    **{"hidden_size": 1408, "intermediate_size": 6144, "num_hidden_layers": 39, "num_attention_heads": 16},
    **{"image_size": 224, "patch_size": 14},
}
QWEN3 = {
    **{"vocab_size": 151669, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28},
    **{"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128},
    **{"max_position_embeddings": 40960, "tie_word_embeddings": True},
}
MINILM = {
    **{"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 1536},
    **{"vocab_size": 30522, "max_position_embeddings": 512},
}
CLIP_VISION = {"image_size": 336, "layers": 24, "width": 1024, "patch_size": 14}
CLIP_TEXT = {"context_length": 77, "vocab_size": 49408, "width": 768, "heads": 12, "layers": 12}


@dataclass(frozen=True, slots=True)
class Bench:
    """Inputs for building a model. `folder`: for weights that an engine loads from disk."""

    accelerator: Any
    tiny: bool
    folder: Path

    def sized(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the published configuration, or a tiny one of its shape."""
        return {name: _TINY.get(name, value) if self.tiny else value for name, value in config.items()}

    def build(self, model_class: Any, config: Any, dtype: str = "") -> Any:
        """Return a model of transformers with random weights, in evaluation mode."""
        import torch

        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype or self.accelerator.dtype))
        try:
            with torch.device(self.accelerator.device):
                return model_class(config).eval()
        finally:
            torch.set_default_dtype(before)

    @property
    def photo(self) -> Any:
        """Return noise in the size of a photo from CRAG-MM's glasses."""
        size = (320, 240, 3) if self.tiny else (1280, 960, 3)
        return np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)

    def passage(self, seed: int = 0) -> str:
        """Return a text of 200 tokens."""
        return " ".join(np.random.default_rng(seed).choice(WORDS, 20 if self.tiny else 200))

    def bert_tokenizer(self) -> Any:
        """Return a `BertTokenizer` with these words, saved in the folder."""
        from transformers import BertTokenizer

        pieces = [_BERT_MARKS.get(place, f"[unused{place}]") for place in range(1030)]
        (self.folder / "vocab.txt").write_text("\n".join([*pieces, *WORDS]) + "\n")
        tokenizer = BertTokenizer.from_pretrained(self.folder)
        tokenizer.model_max_length = 512
        tokenizer.save_pretrained(self.folder)
        return tokenizer


@dataclass(frozen=True, slots=True)
class Stage:
    """`work(n)` does n items as the engine would; `batches`: sizes to measure, with the L40S budget in ms."""

    name: str
    batches: Mapping[int, str]
    work: Callable[[int], object]


def clip(bench: Bench) -> Iterator[Stage]:
    """image_search."""
    import open_clip
    from safetensors.torch import save_file

    from services.image_search.engines.clip import ClipEncoder

    config: dict[str, Any] = {"embed_dim": 24 if bench.tiny else 768, "quick_gelu": True}
    config |= {
        "vision_cfg": bench.sized(CLIP_VISION | {"head_width": 64}),
        "text_cfg": bench.sized(CLIP_TEXT),
    }
    about = {"model_cfg": config, "preprocess_cfg": {}}
    (bench.folder / "open_clip_config.json").write_text(json.dumps(about))
    model: Any = open_clip.create_model(f"local-dir:{bench.folder}", load_weights=False)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, bench.folder / "open_clip_model.safetensors")
    encoder = ClipEncoder(str(bench.folder), bench.accelerator)
    view = encoder.views(bench.photo)[0]
    yield Stage("image_search: CLIP L/14-336, view", {1: "8", 8: "24"}, lambda n: encoder.forward([view] * n))


def bge(bench: Bench) -> Iterator[Stage]:
    """text_search."""
    from transformers import BertConfig, BertModel

    from services.text_search.engines.bge import BgeModel

    bench.bert_tokenizer()
    bench.build(BertModel, BertConfig(**bench.sized(BGE | {"vocab_size": 30522}))).save_pretrained(
        bench.folder
    )
    model = BgeModel(str(bench.folder), bench.accelerator)
    (query,), (chunk,) = model.tokenize([QUESTION]), model.tokenize([bench.passage()])
    yield Stage("text_search: bge-large, query", {1: "8", 8: ""}, lambda n: model.forward([query] * n))
    yield Stage("text_search: bge-large, passage", {1: "", 64: ""}, lambda n: model.forward([chunk] * n))


def grounding_dino(bench: Bench) -> Iterator[Stage]:
    """cropper."""
    import transformers as hf

    from services.cropper.engines.detector import GroundingDinoDetector, Sight

    swin = hf.SwinConfig(**bench.sized(SWIN), out_features=["stage2", "stage3", "stage4"])
    text = hf.BertConfig(
        **(bench.sized(BGE | {"vocab_size": 30522}) if bench.tiny else {"vocab_size": 30522})
    )
    counts = ("encoder_attention_heads", "decoder_attention_heads", "encoder_layers", "decoder_layers")
    small = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_queries": 20}
    sizes = dict.fromkeys(counts, 2) | small if bench.tiny else {}
    config = hf.GroundingDinoConfig(backbone_config=swin, text_config=text, **sizes)
    model = bench.build(hf.GroundingDinoForObjectDetection, config, "float32")
    sides = (96, 160) if bench.tiny else (800, 1333)
    images = hf.GroundingDinoImageProcessorPil(size={"shortest_edge": sides[0], "longest_edge": sides[1]})
    detector = GroundingDinoDetector(model, images, bench.bert_tokenizer(), bench.accelerator)
    (prompt,) = detector.prompts.write(LABELS, len(LABELS))
    sight = Sight(detector.prepare(bench.photo), prompt.token_ids)
    batches = {1: "40–100", 4: ""}
    yield Stage("cropper: Grounding-DINO-T, six labels", batches, lambda n: detector.forward([sight] * n))


def qformer(bench: Bench) -> Iterator[Stage]:
    """domain_router, and the reranker's coarse stage, which share a BLIP-2."""
    import transformers as hf

    from chassis.models.qformer import QFormer

    former = bench.sized({"vocab_size": 30523, "encoder_hidden_size": 1408})
    former |= bench.sized(BGE) if bench.tiny else {}
    config = hf.Blip2Config(
        vision_config=bench.sized(VIT_G),
        qformer_config={**former, "use_qformer_text_input": True},
        text_config={"model_type": "opt", "num_hidden_layers": 1},  # required, and not used
        num_query_tokens=8 if bench.tiny else 32,
        image_text_hidden_size=24 if bench.tiny else 256,
    )
    side = config.vision_config.image_size
    images = hf.BlipImageProcessorPil(size={"height": side, "width": side})
    model = bench.build(hf.Blip2ForImageTextRetrieval, config)
    engine = QFormer(model, images, bench.bert_tokenizer(), bench.accelerator)
    photo, texts = bench.photo, [bench.passage(seed) for seed in range(100)]
    pair = (QUESTION, photo)
    yield Stage(
        "domain_router: Q-Former, question and photo",
        {1: "12", 4: ""},
        lambda n: engine.encode_questions([pair] * n),
    )
    yield Stage(
        "reranker: Q-Former, a photo and passages",
        {1: "", 100: "20"},
        lambda n: (engine.photo_vectors([photo]), engine.text_vectors(texts[:n])),
    )


def qwen3(bench: Bench) -> Iterator[Stage]:
    """The reranker's fine stage."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    from services.reranker.engines.qwen3 import Qwen3Reranker

    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unknown>"]
    pieces = {piece: place for place, piece in enumerate([*marks, "yes", "no", *WORDS])}
    words = Tokenizer(models.WordLevel(pieces, "<unknown>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token=marks[0], unk_token=marks[3], additional_special_tokens=marks[1:3]
    )
    model = bench.build(Qwen3ForCausalLM, Qwen3Config(**bench.sized(QWEN3)))
    judge = Qwen3Reranker(model, tokenizer, bench.accelerator)
    pairs = [(QUESTION, bench.passage(seed)) for seed in range(100)]
    yield Stage(
        "reranker: Qwen3-0.6B, passages", {1: "", 30: "40", 100: "125"}, lambda n: judge.score(pairs[:n])
    )


def reader(bench: Bench) -> Iterator[Stage]:
    """The reader's smaller preset."""
    from transformers import BertConfig, BertForQuestionAnswering

    from services.reader.engines.windows import QuestionAnsweringModel

    model = bench.build(BertForQuestionAnswering, BertConfig(**bench.sized(MINILM)))
    reading = QuestionAnsweringModel(model, bench.bert_tokenizer(), bench.accelerator, "minilm")
    (window,) = reading.windows(QUESTION, [bench.passage()])
    batches = {1: "", 16: "", 64: ""}
    yield Stage("reader: MiniLM-L12, passage", batches, lambda n: reading.forward([window] * n))


ENGINES: Mapping[str, Callable[[Bench], Iterator[Stage]]] = {
    engine.__name__: engine for engine in (clip, bge, grounding_dino, qformer, qwen3, reader)
}


def measure(stage: Stage, device: str, repeats: int) -> None:
    """Print a row of the table for each batch size."""
    import torch

    on_gpu = device != "cpu"
    for batch, budget in stage.batches.items():
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)
        times = []
        for _ in range(3 + repeats):
            start = time.perf_counter()
            stage.work(batch)
            if on_gpu:
                torch.cuda.synchronize(device)
            times.append((time.perf_counter() - start) * 1000)
        p50, p95 = np.percentile(times[3:], [50, 95])
        peak = torch.cuda.max_memory_allocated(device) / 2**30 if on_gpu else 0
        cells = (stage.name, str(batch), f"{p50:.1f}", f"{p95:.1f}", budget or "–", f"{peak:.2f}")
        sys.stdout.write(f"| {' | '.join(cells)} |\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. The exit status is 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--device", default="auto", help="auto, cuda, cuda:N or cpu")
    parser.add_argument("--dtype", default="auto", choices=["auto", "float32", "bfloat16", "float16"])
    parser.add_argument("--tiny", action="store_true", help="small models: the figures mean nothing")
    parser.add_argument("--only", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args(arguments)
    import torch
    import transformers

    from chassis.accelerator import Placement, open_accelerator

    if options.device != "cpu" and not torch.cuda.is_available():
        sys.stderr.write("No CUDA GPU was found. `--device cpu --tiny` tries the script itself.\n")
        return 2
    accelerator = open_accelerator(Placement(options.device, options.dtype))
    device = "the CPU" if accelerator.device == "cpu" else torch.cuda.get_device_name(accelerator.device)
    sys.stdout.write(
        f"{device}, {accelerator.dtype}, torch {torch.__version__}, transformers {transformers.__version__},"
        f" random weights, {options.repeats} calls.\n\n"
        "| stage | batch | p50 ms | p95 ms | L40S budget ms | peak GiB |\n|---|---|---|---|---|---|\n"
    )
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            try:
                for stage in ENGINES[name](Bench(accelerator, options.tiny, Path(folder))):
                    measure(stage, accelerator.device, options.repeats)
            except (ImportError, RuntimeError) as error:  # no open_clip, or not enough memory
                sys.stdout.write(f"| {name}: {str(error).splitlines()[0]} | | | | | |\n")
        gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main())
