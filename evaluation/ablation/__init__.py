"""What each module is worth: the same questions with it and without it, beside the papers' figures."""
