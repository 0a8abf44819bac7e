"""What a turn sends beside its calls: messages, reasoning, activities, custom events, usage."""
