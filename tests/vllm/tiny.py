"""Tiny models that vLLM serves, built from configurations: `python -m tests.vllm.tiny FOLDER`.

Runs in the environment that vLLM is in. Head sizes are what its CPU kernels take (32 and more).
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import processors
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from tests.training.tiny_models import QWEN_CHAT, byte_pairs, qwen_marks, qwen_tokenizer

_SENTENCES = [f"The sign at gate {number} says that the café opens at nine, yes?" for number in range(99)]
_SIZE = 500


def _tokenizer() -> Any:
    """With Qwen's marks, and what a reranker answers as tokens of their own."""
    return qwen_tokenizer(_SENTENCES, _SIZE, ("yes", "no"))


def tiny_vlm(folder: Path) -> Path:
    """Qwen2.5-VL: two layers of text, two of vision."""
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    token = tokenizer.convert_tokens_to_ids
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 16384,
        "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [4, 6, 6]},
        "bos_token_id": token("<|endoftext|>"),
        "eos_token_id": token("<|im_end|>"),
        "pad_token_id": token("<|endoftext|>"),
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 64,
        "fullatt_block_indexes": [1],
    }
    config = transformers.Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        **qwen_marks(tokenizer),
    )
    transformers.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    transformers.Qwen2_5_VLProcessor(
        transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=28 * 28 * 16),
        tokenizer,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=QWEN_CHAT,
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_retriever(folder: Path) -> Path:
    """Qwen3-VL, as Qwen3-VL-Embedding and Qwen3-VL-Reranker are: it embeds, and it answers "yes" or "no"."""
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    token = tokenizer.convert_tokens_to_ids
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "max_position_embeddings": 4096,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 5e6,
            "mrope_section": [12, 10, 10],
            "mrope_interleaved": True,
        },
        "eos_token_id": token("<|im_end|>"),
        "pad_token_id": token("<|endoftext|>"),
        "tie_word_embeddings": True,
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 64,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0],
    }
    config = transformers.Qwen3VLConfig(
        text_config=text,
        vision_config=vision,
        **qwen_marks(tokenizer),
        tie_word_embeddings=True,
    )
    transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    sides = {"shortest_edge": 64 * 64, "longest_edge": 256 * 256}
    transformers.Qwen3VLProcessor(
        transformers.Qwen2VLImageProcessor(size=sides, patch_size=16),
        tokenizer,
        video_processor=transformers.Qwen3VLVideoProcessor(),
        chat_template=QWEN_CHAT,
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_reranker(folder: Path) -> Path:
    """Qwen3 that answers "yes" or "no", as Qwen3-Reranker does."""
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        max_position_embeddings=1024,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_embedder(folder: Path) -> Path:
    """BERT with the pooling files that say: first token, normalised (as BGE's do)."""
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(code) for code in range(33, 127)]
    vocabulary = [*pieces, *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 512
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _write_pooling(folder)
    return folder


def tiny_clip(folder: Path) -> Path:
    """CLIP with both towers; vLLM embeds a photo with the second."""
    torch.manual_seed(0)
    start, end = "<|startoftext|>", "<|endoftext|>"
    bpe = byte_pairs((), _SENTENCES, _SIZE)
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
    return folder


def tiny_whisper(folder: Path) -> Path:
    """Whisper with all of its languages; 30 s of sound are 1,500 frames, as in the large ones."""
    torch.manual_seed(0)
    end, begin = "<|endoftext|>", "<|startoftranscript|>"
    tasks = ["<|translate|>", "<|transcribe|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    bpe = byte_pairs((), _SENTENCES, _SIZE)
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
    return folder


def _write_pooling(folder: Path) -> None:
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    steps = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(steps), "utf-8")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": 64,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")


def main(folder: Path) -> None:
    """All of them, each in a folder of its name."""
    tiny_vlm(folder / "vlm")
    tiny_retriever(folder / "retriever")
    tiny_reranker(folder / "reranker")
    tiny_embedder(folder / "embedder")
    tiny_clip(folder / "clip")
    tiny_whisper(folder / "whisper")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
