"""What a turn sends beside its calls: messages, reasoning, activities."""
