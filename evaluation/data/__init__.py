"""Data sets as frozen values: CRAG-MM, SQuAD, a folder like `samples`, or your own."""
