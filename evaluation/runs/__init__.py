"""One system asked one dataset: asked once, kept on disk, resumed where it stopped."""
