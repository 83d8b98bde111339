"""A tiny Llama-3.2-Vision (Mllama), the card's default architecture, built from a config."""

from pathlib import Path

from tests.models.tiny import byte_bpe

_SPECIALS = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|pad|>",
]
_CHAT = (
    "{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] in ('image', 'image_url') %}<|image|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n{% endif %}"
)
_TILES = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]


def tiny_mllama(folder: Path) -> Path:
    """Four layers of text, two of them looking at the picture; random words, the real mechanics."""
    import torch
    from transformers import (
        MllamaConfig,
        MllamaForConditionalGeneration,
        MllamaImageProcessor,
        MllamaProcessor,
        PreTrainedTokenizerFast,
    )
    from transformers.models.mllama.configuration_mllama import MllamaTextConfig, MllamaVisionConfig

    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_bpe(_SPECIALS),
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        pad_token="<|pad|>",
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|image|>"]})
    text = MllamaTextConfig(
        vocab_size=len(tokenizer) - 1,  # the real one keeps the image token outside too
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        cross_attention_layers=[1, 3],
        max_position_embeddings=8192,
        bos_token_id=0,
        eos_token_id=4,
        pad_token_id=5,
        rope_scaling={
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 256,
        },
    )
    vision = MllamaVisionConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_global_layers=1,
        attention_heads=2,
        intermediate_size=64,
        vision_output_dim=96,
        image_size=56,
        patch_size=14,
        max_num_tiles=4,
        intermediate_layers_indices=[0, 1],
        supported_aspect_ratios=_TILES,
    )
    image_token = tokenizer.convert_tokens_to_ids("<|image|>")
    config = MllamaConfig(vision_config=vision, text_config=text, image_token_index=image_token)
    MllamaForConditionalGeneration(config).save_pretrained(folder)
    images = MllamaImageProcessor(size={"height": 56, "width": 56}, max_image_tiles=4)
    MllamaProcessor(image_processor=images, tokenizer=tokenizer, chat_template=_CHAT).save_pretrained(folder)
    return folder
