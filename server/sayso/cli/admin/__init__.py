"""Commands for whoever runs a server: serve, list, show, stop, audit, seal."""
