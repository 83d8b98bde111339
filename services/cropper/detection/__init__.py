"""Open-vocabulary detection: labels to prompts, prompts and photos to boxes, boxes to regions."""
