"""The commands of `loreglass eval`, one module each."""
