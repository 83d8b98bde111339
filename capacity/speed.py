"""How fast a preset is on a card, from the card's data sheet and the model's sizes.

Writing a token reads all weights of the decoder; reading tokens and photos is bound by computing.
"""

from capacity.node_file import Node
from gateway.planning.latencies import VlmSpeed
from services.vlm.presets import Preset

MEMORY_EFFICIENCY = 0.77
"""Share of the bandwidth that decoding reaches (the L40S budget: 21.4 ms a token at best, 27.8 seen)."""
COMPUTE_EFFICIENCY = 0.53
"""Share of the dense peak that prefill reaches (the L40S budget: 2,500 tokens in 240 ms in bf16)."""


def vlm_speed(node: Node, preset: Preset) -> VlmSpeed:
    """Return the cost of one call alone, in whole milliseconds but for the token."""
    tflops = (node.fp8_tflops if preset.fp8 else None) or node.bf16_tflops
    token_ms = preset.prefill_gflop / (tflops * COMPUTE_EFFICIENCY)
    vision_ms = preset.vision_tflop / (node.bf16_tflops * COMPUTE_EFFICIENCY) * 1000
    if preset.photo_in_prompt:
        vision_ms += token_ms * preset.photo_tokens
    decode_ms = preset.decode_weights_gb / (node.bandwidth_gb_s * MEMORY_EFFICIENCY) * 1000
    return VlmSpeed(
        vision_ms=float(round(vision_ms)),
        prefill_ms_per_1k=float(round(token_ms * 1000)),
        decode_ms_per_token=round(decode_ms, 1),
        prefix_caching=preset.prefix_caching,
    )
