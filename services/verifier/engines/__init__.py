"""The engines that can stand behind the verifier's routes."""
