"""Tiny models of the trained architectures, built from configurations with random weights.

Head sizes are what vLLM's kernels take (32 and more). Each function writes a folder for `from_pretrained`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SENTENCES = tuple(
    f"The red tower {number} was built by Ada in 19{number % 100:02d}; is it a book or a dog? I don't know."
    for number in range(400)
)
_LLAMA_WORDS = ("begin_of_text", "end_of_text", "start_header_id", "end_header_id", "eot_id", "pad")
_LLAMA_SPECIALS = tuple(f"<|{word}|>" for word in _LLAMA_WORDS)
_VISION_WORDS = ("vision_start", "vision_end", "image_pad", "video_pad")
_QWEN_SPECIALS = tuple(f"<|{word}|>" for word in ("endoftext", "im_start", "im_end", *_VISION_WORDS))
_INITIAL, _HEAD, _GATE, _QUIET = 0.1, 3.0, 0.5, 0.1
_TILES = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]


def _chat(opening: str, closing: str, photo: str) -> str:
    """A chat template: `opening` with the role in it, the parts, `closing`."""
    begin, end = (part.replace("'", "\\'") for part in opening.split("ROLE"))
    return (
        f"{{% for message in messages %}}{begin}{{{{ message['role'] }}}}{end}\n"
        "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
        "{% for part in message['content'] %}"
        f"{{% if part['type'] in ('image', 'image_url') %}}{photo}{{% else %}}"
        f"{{{{ part['text'] }}}}{{% endif %}}{{% endfor %}}{{% endif %}}{closing}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{begin}assistant{end}\n{{% endif %}}"
    )


_LLAMA_CHAT = "<|begin_of_text|>" + _chat(
    "<|start_header_id|>ROLE<|end_header_id|>", "<|eot_id|>", "<|image|>"
)
QWEN_CHAT = _chat("<|im_start|>ROLE", "<|im_end|>\n", "<|vision_start|><|image_pad|><|vision_end|>")


def byte_pairs(specials: Iterable[str], sentences: Iterable[str] = SENTENCES, size: int = 600) -> Any:
    """A byte-level BPE tokenizer of about `size` pieces that knows `specials`, first ids first."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(specials),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return tokenizer


def tiny_mllama(folder: Path, sentences: Iterable[str] = SENTENCES, size: int = 600) -> Path:
    """Llama-3.2-Vision: four layers of text, two of them looking at the picture.

    As in the real one, the image token's id lies outside the vocabulary that the model writes.
    """
    from transformers import (
        MllamaConfig,
        MllamaForConditionalGeneration,
        MllamaImageProcessor,
        MllamaProcessor,
        PreTrainedTokenizerFast,
    )

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_pairs(_LLAMA_SPECIALS, sentences, size),
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        pad_token="<|pad|>",
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|image|>"]})
    config = MllamaConfig(
        vision_config=_mllama_vision(),
        text_config=_mllama_text(len(tokenizer) - 1),
        image_token_index=tokenizer.convert_tokens_to_ids("<|image|>"),
    )
    _seeded(MllamaForConditionalGeneration, config, tokenizer).save_pretrained(folder)
    images = MllamaImageProcessor(size={"height": 56, "width": 56}, max_image_tiles=4)
    processor = MllamaProcessor(image_processor=images, tokenizer=tokenizer, chat_template=_LLAMA_CHAT)
    processor.save_pretrained(folder)
    return folder


def _mllama_text(vocabulary: int) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "initializer_range": _INITIAL,
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 128,
        "cross_attention_layers": [1, 3],
        "max_position_embeddings": 16384,
        "bos_token_id": 0,
        "eos_token_id": 4,
        "pad_token_id": 5,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 2048,
        },
    }


def _mllama_vision() -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 2,
        "intermediate_size": 64,
        "vision_output_dim": 96,
        "image_size": 56,
        "patch_size": 14,
        "max_num_tiles": 4,
        "intermediate_layers_indices": [0, 1],
        "supported_aspect_ratios": _TILES,
    }


_QWEN_VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 64,
}


def tiny_qwen25_vl(folder: Path, sentences: Iterable[str] = SENTENCES, size: int = 600) -> Path:
    """Qwen2.5-VL: two layers of text, two of vision."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    tokenizer = qwen_tokenizer(sentences, size)
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]}
    config = Qwen2_5_VLConfig(
        text_config=_qwen_text(tokenizer) | {"rope_parameters": rope},
        vision_config={**_QWEN_VISION, "fullatt_block_indexes": [1]},
        **qwen_marks(tokenizer),
    )
    _seeded(Qwen2_5_VLForConditionalGeneration, config, tokenizer).save_pretrained(folder)
    images, videos = Qwen2VLImageProcessor(min_pixels=56**2, max_pixels=28**2 * 16), Qwen2VLVideoProcessor()
    processor = Qwen2_5_VLProcessor(images, tokenizer, video_processor=videos, chat_template=QWEN_CHAT)
    processor.save_pretrained(folder)
    return folder


def tiny_qwen3_vl(folder: Path, words: Sequence[str] = ()) -> Path:
    """Write a tiny Qwen3-VL with two text and two vision layers; return its folder.

    The first text layer also gets the states of one vision layer (DeepStack). Each of `words` is one token.
    """
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    tokenizer = qwen_tokenizer(words=words)
    rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [6, 5, 5], "mrope_interleaved": True}
    config = Qwen3VLConfig(
        text_config=_qwen_text(tokenizer) | {"head_dim": 32, "rope_parameters": rope},
        vision_config={**_QWEN_VISION, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        **qwen_marks(tokenizer),
    )
    _seeded(Qwen3VLForConditionalGeneration, config, tokenizer).save_pretrained(folder)
    images = Qwen2VLImageProcessor(min_pixels=64**2, max_pixels=32**2 * 16, patch_size=16)
    videos = Qwen3VLVideoProcessor()
    Qwen3VLProcessor(images, tokenizer, video_processor=videos, chat_template=QWEN_CHAT).save_pretrained(
        folder
    )
    return folder


def _seeded(architecture: Any, config: Any, tokenizer: Any) -> Any:
    """The model, fit to be trained by an adapter alone, and to be asked before it is.

    As they are initialised, the frozen head could not tell words apart by more than a few per cent whatever
    reached it, Mllama's gates would let nothing of the photo through, and random words would often be bytes
    that make no character.
    """
    import torch

    torch.manual_seed(0)
    model = architecture(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(_HEAD)
        model.lm_head.weight[_rare(tokenizer, model.lm_head.weight.shape[0])] *= _QUIET
        for name, weight in model.named_parameters():
            if name.endswith("_gate"):
                weight.fill_(_GATE)
    return model


def _rare(tokenizer: Any, vocabulary: int) -> list[int]:
    """Tokens that nobody reads alone: control tokens but the turn's end, and bytes beyond ASCII."""
    special = set(tokenizer.all_special_ids) - {tokenizer.eos_token_id}
    spelled = ((token, tokenizer.decode([token])) for token in range(vocabulary))
    return [token for token, text in spelled if token in special or "\ufffd" in text]


def qwen_tokenizer(sentences: Iterable[str] = SENTENCES, size: int = 600, words: Sequence[str] = ()) -> Any:
    """A tokenizer with Qwen's marks and chat template, and `words` as tokens of their own."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_pairs(_QWEN_SPECIALS, sentences, size),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        chat_template=QWEN_CHAT,
    )
    tokenizer.add_tokens(list(words))
    return tokenizer


def _qwen_text(tokenizer: Any) -> dict[str, Any]:
    token = tokenizer.convert_tokens_to_ids
    return {
        "vocab_size": len(tokenizer),
        "initializer_range": _INITIAL,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 16384,
        "bos_token_id": token("<|endoftext|>"),
        "eos_token_id": token("<|im_end|>"),
        "pad_token_id": token("<|endoftext|>"),
    }


def qwen_marks(tokenizer: Any) -> dict[str, Any]:
    """The tokens that stand around and for photos, as configurations name them."""
    token = tokenizer.convert_tokens_to_ids
    return {
        "image_token_id": token("<|image_pad|>"),
        "video_token_id": token("<|video_pad|>"),
        "vision_start_token_id": token("<|vision_start|>"),
        "vision_end_token_id": token("<|vision_end|>"),
    }
