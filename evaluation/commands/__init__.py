"""What `loreglass eval` does, a module a command."""
