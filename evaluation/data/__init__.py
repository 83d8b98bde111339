"""What is asked: CRAG-MM, the synthetic world, or a folder of one's own, as the same frozen values."""
