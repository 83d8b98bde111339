"""What is asked: CRAG-MM, SQuAD, a folder like `samples`, or one of one's own, as the same frozen values."""
