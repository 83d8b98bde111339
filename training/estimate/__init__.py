"""What a training will take: its own code is run on tensors that have a size and no numbers."""
