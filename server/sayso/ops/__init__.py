"""The process around the app: listening, serving, supervising, agents from a file."""
