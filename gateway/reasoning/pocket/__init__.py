"""The reasoner without a model: it works out what is asked and lets the reader service read."""
