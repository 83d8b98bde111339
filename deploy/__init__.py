"""How the platform is put together and run."""
