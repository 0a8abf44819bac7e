"""The commands of `sayso`, beside the demo."""
