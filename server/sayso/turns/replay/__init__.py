"""Record and replay: branches, order, effects, and the commits that make them durable."""
