"""image_search: which known thing a photo shows, with the probability that it is really that thing."""
