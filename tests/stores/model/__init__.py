"""A model of the store in plain dictionaries, independent of what the stores share."""
