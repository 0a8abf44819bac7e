"""`python -m sayso` is the command `sayso`."""

from sayso.cli import main

if __name__ == "__main__":
    main()
