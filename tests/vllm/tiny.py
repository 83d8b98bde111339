"""Tiny models that vLLM serves, built from configurations: `python -m tests.vllm.tiny FOLDER`.

Runs in the environment that vLLM is in. Head sizes are what its CPU kernels take (32 and more).
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import processors
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from tests.models.tiny_bge import SIZE, tiny_bge
from tests.models.tiny_qwen3 import tiny_qwen3
from tests.training.tiny_models import byte_pairs, tiny_qwen3_vl, tiny_qwen25_vl


def tiny_embedder(folder: Path) -> None:
    """BERT with the pooling files that say: first token, normalised (as BGE's do)."""
    _write_pooling(tiny_bge(folder))


def tiny_clip(folder: Path) -> None:
    """CLIP with both towers; vLLM embeds a photo with the second."""
    torch.manual_seed(0)
    start, end = "<|startoftext|>", "<|endoftext|>"
    bpe = byte_pairs(())
    bpe.add_special_tokens([start, end])  # last, as CLIP's are: vLLM lends token 0 to the photo
    numbers = [(mark, bpe.token_to_id(mark)) for mark in (start, end)]
    bpe.post_processor = processors.TemplateProcessing(single=f"{start} $A {end}", special_tokens=numbers)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=start,
        eos_token=end,
        pad_token=end,
        unk_token=end,
        model_max_length=77,
        model_input_names=["input_ids", "attention_mask"],
    )
    tower = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    marks = {"bos_token_id": numbers[0][1], "eos_token_id": numbers[1][1], "pad_token_id": numbers[1][1]}
    config = transformers.CLIPConfig(
        text_config=tower | marks | {"vocab_size": len(tokenizer), "projection_dim": 64},
        vision_config=tower | {"image_size": 56, "patch_size": 14, "projection_dim": 64},
        projection_dim=64,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    sizes = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}
    transformers.CLIPProcessor(transformers.CLIPImageProcessor(**sizes), tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tiny_whisper(folder: Path) -> None:
    """Whisper with all of its languages; 30 s of sound are 1,500 frames, as in the large ones."""
    torch.manual_seed(0)
    end, begin = "<|endoftext|>", "<|startoftranscript|>"
    tasks = ["<|translate|>", "<|transcribe|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    bpe = byte_pairs(())
    bpe.add_special_tokens([end, begin, *(f"<|{language}|>" for language in LANGUAGES), *tasks])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=end, eos_token=end, pad_token=end, unk_token=end
    )
    last = tokenizer.eos_token_id
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        bos_token_id=last,
        eos_token_id=last,
        pad_token_id=last,
        decoder_start_token_id=tokenizer.convert_tokens_to_ids(begin),
        begin_suppress_tokens=None,
    )
    transformers.WhisperForConditionalGeneration(config).save_pretrained(folder)
    transformers.WhisperFeatureExtractor().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _write_pooling(folder: Path) -> None:
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    steps = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(steps), "utf-8")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": SIZE,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")


def main(folder: Path) -> None:
    """All of them, each in a folder of its name."""
    tiny_qwen25_vl(folder / "vlm")
    tiny_qwen3_vl(folder / "retriever", words=("yes", "no"))
    tiny_qwen3(folder / "reranker")
    tiny_embedder(folder / "embedder")
    tiny_clip(folder / "clip")
    tiny_whisper(folder / "whisper")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
