"""A seeded world of things, photos, pages and questions, whose truth is known."""
