"""Questions to people: asked, held open, read when they are settled."""
