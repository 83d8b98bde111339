"""GRPO of Wiki-PRF's model on this platform (section 3.5): its own pipeline is the rollout."""
