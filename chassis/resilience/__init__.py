"""What keeps a call within its time and a failure where it began: deadlines, guards, gates, retries."""
