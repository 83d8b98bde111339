"""Place the processes of a node on its cards, and size their memory."""
