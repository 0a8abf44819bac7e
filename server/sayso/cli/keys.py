"""Keys of an encrypted store: where commands find them, and `sayso key new`, which makes them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sayso.stores.aesgcm import AesGcm, add_key

KEY_FILE = "SAYSO_KEY_FILE"
"""The variable that names the key file."""

KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        envvar=KEY_FILE,
        help="The keys under which the store is encrypted.",
        show_default="the app's",
    ),
]

key: typer.Typer = typer.Typer(help="Keys for a store that is encrypted.", no_args_is_help=True)


@key.callback()
def _key() -> None:
    """Keys for a store that is encrypted."""


@key.command()
def new(
    path: Annotated[Path, typer.Argument(help="The key file.", show_default=False)],
    add: Annotated[
        bool, typer.Option("--add", help="Put a further key at the end of a file that exists.")
    ] = False,
) -> None:
    """Make a key file with one new key, for its owner alone."""
    if path.exists() != add:
        there = "exists; put a further key into it with --add" if not add else "does not exist"
        raise typer.BadParameter(f"{path} {there}")
    name = add_key(path)
    typer.echo(f"Key {name} is in {path}. Keep a copy of that file: nothing else opens the store.")
    if add:
        typer.echo(
            f"Restart all servers, so that they can read what key {name} writes. Then move its "
            "line to the top, restart them again, and run sayso rekey."
        )


def codec_at(key_file: Path | None = None, *, accept_plain: bool = False) -> AesGcm | None:
    """The keys of a file, else of that which the variable SAYSO_KEY_FILE names, if it does."""
    path = key_file or os.environ.get(KEY_FILE)
    return AesGcm.from_file(path, accept_plain=accept_plain) if path else None
