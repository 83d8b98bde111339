"""Fine-tuning the BLIP-2 domain router on rows in CRAG-MM's schema."""
