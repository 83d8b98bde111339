"""What a training came to, for people: one page whose first lines say what not to believe."""
