"""How fast a preset is on a card, from the card's data sheet and the sizes of the model.

Writing a token reads all weights of the decoder once, whoever it is for, and the keys and values of each
sequence; reading tokens and photos is bound by computing (the roofline of both).
"""

from capacity.placement.node_file import Node
from gateway.planning.latencies import VlmSpeed
from services.vlm.presets import Preset

MEMORY_EFFICIENCY = 0.77
"""Of the bandwidth, what decoding reaches (the L40S budget: 21.4 ms a token at best, 27.8 seen)."""
COMPUTE_EFFICIENCY = 0.53
"""Of the dense peak, what prefill reaches (the L40S budget: 2,500 tokens in 240 ms in bf16)."""


def vlm_speed(node: Node, preset: Preset) -> VlmSpeed:
    """What one call alone costs; in whole milliseconds but for the token."""
    vision_ms = preset.vision_tflop / (node.bf16_tflops * COMPUTE_EFFICIENCY) * 1000
    per_1k = _prefill_ms(node, preset, 1000)
    if preset.photo_in_prompt:
        vision_ms += _prefill_ms(node, preset, preset.photo_tokens)
    return VlmSpeed(
        vision_ms=float(round(vision_ms)),
        prefill_ms_per_1k=float(round(per_1k)),
        decode_ms_per_token=round(step_ms(node, preset), 1),
        prefix_caching=preset.prefix_caching,
    )


def step_ms(node: Node, preset: Preset, batch: int = 0, sequence_gb: float = 0.0) -> float:
    """One decoding step of `batch` sequences, each with so much to its name; 0: the weights alone."""
    read_gb = preset.decode_weights_gb + batch * sequence_gb
    return read_gb / (node.bandwidth_gb_s * MEMORY_EFFICIENCY) * 1000


def _prefill_ms(node: Node, preset: Preset, tokens: int) -> float:
    tflops = (node.fp8_tflops if preset.fp8 else None) or node.bf16_tflops
    return preset.prefill_gflop * tokens / 1000 / (tflops * COMPUTE_EFFICIENCY) * 1000
