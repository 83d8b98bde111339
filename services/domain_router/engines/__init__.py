"""The engines that can stand behind the domain_router routes."""
