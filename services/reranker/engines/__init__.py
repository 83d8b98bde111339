"""The engines that can stand behind the reranker's routes."""
