"""The engines that can stand behind the ocr routes."""
