"""ocr: the text lines of a photo."""
