"""A tiny Llama-3.2-Vision, built from a configuration: `python -m tests.vllm.tiny_llama FOLDER`.

Runs in the environment of vLLM 0.10.2. Its chat template is ours, and does what the weights' own does.
"""

import sys
from pathlib import Path

import torch
import transformers
from transformers.models.mllama.configuration_mllama import MllamaTextConfig, MllamaVisionConfig

from tests.vllm.tiny import byte_pairs

_SPECIAL = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|pad|>",
)
_TURNS = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<|image|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
    "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)


def tiny_llama(folder: Path) -> None:
    """Four layers of text, two of them with cross-attention to two layers of vision."""
    torch.manual_seed(0)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_pairs(_SPECIAL),
        bos_token=_SPECIAL[0],
        eos_token=_SPECIAL[4],
        pad_token=_SPECIAL[5],
        chat_template=_TURNS,
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|image|>"]})
    text = MllamaTextConfig(
        vocab_size=len(tokenizer) - 1,  # the photo's token lies outside, as the real one's does
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=128,
        cross_attention_layers=[1, 3],
        max_position_embeddings=16_384,
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
    tiles = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]
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
        supported_aspect_ratios=tiles,
    )
    image_token = tokenizer.convert_tokens_to_ids("<|image|>")
    config = transformers.MllamaConfig(vision_config=vision, text_config=text, image_token_index=image_token)
    transformers.MllamaForConditionalGeneration(config).save_pretrained(folder)
    transformers.MllamaProcessor(
        image_processor=transformers.MllamaImageProcessor(
            size={"height": 56, "width": 56}, max_image_tiles=4
        ),
        tokenizer=tokenizer,
        chat_template=_TURNS,
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    tiny_llama(Path(sys.argv[1]))
