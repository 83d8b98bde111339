"""`python tiny.py FOLDER`: a random Llama of one layer and a LLaVA's eye of two, as llama.cpp reads them.

Runs in the environment that has the package `gguf`, and imports nothing of ours.
"""

import sys
from pathlib import Path

import gguf
import numpy as np

WIDTH, HIDDEN, HEADS, CONTEXT = 64, 128, 4, 8_192
EYE_WIDTH, EYE_HIDDEN, EYE_LAYERS, PATCH, SIDE = 32, 64, 2, 14, 56
WORDS = ("▁", "▁the", "▁a", "▁of", "▁is", "▁it", "▁one", "▁two", "▁photo")
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "

chance = np.random.default_rng(1)


def some(*shape):
    return chance.normal(0, 0.05, shape).astype(np.float32)


def ones(*shape):
    return np.ones(shape, np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def language_model(path):
    writer, kinds = gguf.GGUFWriter(path, "llama"), gguf.TokenType
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256, *[kinds.NORMAL] * len(WORDS)]
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_token_types([int(each) for each in types])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", some(len(tokens), WIDTH))
    writer.add_tensor("output.weight", some(len(tokens), WIDTH))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", ones(WIDTH))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", some(WIDTH, WIDTH))
    for name in ("ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", some(HIDDEN, WIDTH))
    writer.add_tensor("blk.0.ffn_down.weight", some(WIDTH, HIDDEN))
    write(writer)


def eye(path):
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_bool("clip.use_gelu", True)
    writer.add_string("clip.projector_type", "mlp")
    sizes = {"embedding_length": EYE_WIDTH, "feed_forward_length": EYE_HIDDEN, "block_count": EYE_LAYERS}
    sizes |= {"projection_dim": WIDTH, "attention.head_count": 2, "image_size": SIDE, "patch_size": PATCH}
    for name, size in sizes.items():
        writer.add_uint32(f"clip.vision.{name}", size)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5] * 3)
    writer.add_array("clip.vision.image_std", [0.5] * 3)
    writer.add_tensor("v.class_embd", some(EYE_WIDTH))
    writer.add_tensor("v.patch_embd.weight", some(EYE_WIDTH, 3, PATCH, PATCH))
    writer.add_tensor("v.position_embd.weight", some((SIDE // PATCH) ** 2 + 1, EYE_WIDTH))
    norms = ["v.pre_ln", "v.post_ln"]
    squares = {"mm.2": (WIDTH, WIDTH), "mm.0": (WIDTH, EYE_WIDTH)}
    for layer in range(EYE_LAYERS):
        block = f"v.blk.{layer}"
        norms += [f"{block}.ln1", f"{block}.ln2"]
        squares |= {f"{block}.attn_{part}": (EYE_WIDTH, EYE_WIDTH) for part in ("q", "k", "v", "out")}
        squares |= {f"{block}.ffn_up": (EYE_HIDDEN, EYE_WIDTH), f"{block}.ffn_down": (EYE_WIDTH, EYE_HIDDEN)}
    for name in norms:
        writer.add_tensor(f"{name}.weight", ones(EYE_WIDTH))
        writer.add_tensor(f"{name}.bias", zeros(EYE_WIDTH))
    for name, shape in squares.items():
        writer.add_tensor(f"{name}.weight", some(*shape))
        writer.add_tensor(f"{name}.bias", zeros(shape[0]))
    write(writer)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    language_model(str(folder / "tiny.gguf"))
    eye(str(folder / "eye.gguf"))
