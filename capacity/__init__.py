"""What runs on which card of a node, and how much of it each process gets."""
