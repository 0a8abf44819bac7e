"""Encryption at rest: AES-256-GCM under keys that have ids, the first of which writes."""

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sayso.base.errors import DeclarationError

KEY_BYTES = 32
MARK = b"\0sayso"
"""What sealed bytes begin with, and no JSON does."""

_NONCE_BYTES = 12
_MAX_ID_BYTES = 40
_EXTRA = (
    "encryption needs the package cryptography: install sayso with the extra encryption, or "
    "pip install cryptography"
)


class Unreadable(Exception):
    """Why sealed bytes are not opened; completes "state.body of thread 't' …"."""


class Foreign(Unreadable):
    """Why bytes are not what somebody with the keys has put there: no further key opens them."""


class AesGcm:
    """Keys for what a store holds of its users' texts: `Sayso(codec=AesGcm({"2": new, "1": old}))`.

    `keys` are 32 random bytes each, by ids of 1 to 40 ASCII characters. The first one writes, all
    of them read. `accept_plain` also reads what was stored before there was a codec: only until
    `sayso rekey` has sealed it, since whoever can write to the store could put a clear text
    anywhere. Needs the extra `encryption`.

    Raises:
        DeclarationError: a key or an id that cannot be used, or the extra is missing.
    """

    def __init__(self, keys: Mapping[str, bytes], *, accept_plain: bool = False) -> None:
        mapping: object = keys
        if not isinstance(mapping, Mapping) or not mapping:
            raise DeclarationError('AesGcm takes keys by their ids, as in AesGcm({"1": key})')
        kind = _aesgcm()
        self._keys: dict[bytes, Any] = {}
        for name, key in mapping.items():
            if not isinstance(key, bytes) or len(key) != KEY_BYTES:
                raise DeclarationError(
                    f"the key {name!r} of AesGcm has to be {KEY_BYTES} bytes, as "
                    "secrets.token_bytes(32) and `sayso key new` make them"
                )
            self._keys[_id_of(name)] = kind(key)
        self.ids: tuple[str, ...] = tuple(keys)
        """The ids of its keys; the first is that of the key that writes."""
        self.accept_plain = accept_plain
        """True if clear texts are read as well."""
        self._id = _id_of(self.ids[0])
        self._first = self._keys[self._id]
        self._head = MARK + bytes((len(self._id),)) + self._id

    def __repr__(self) -> str:
        return f"AesGcm(<keys {', '.join(self.ids)}>)"

    @classmethod
    def from_file(cls, path: str | Path, *, accept_plain: bool = False) -> "AesGcm":
        """Take the keys of a file, a line `id key` each, with the key in base64.

        `sayso key new PATH` makes one. The file is never made here: a path that is mistyped, or not
        mounted, would begin with a new key, and nothing that is stored could be read.

        Raises:
            DeclarationError: the file is missing, is no such file, or may be read by anybody.
        """
        return cls(keys_of(Path(path)), accept_plain=accept_plain)

    def seal(self, text: bytes, place: bytes) -> bytes:
        """Encrypt a text for one place: nowhere else will it be opened."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed: bytes = self._first.encrypt(nonce, text, place)
        return b"%b%b%b" % (self._head, nonce, sealed)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Decrypt what was sealed for that place.

        Raises:
            Unreadable: it is not sealed, its key is not here, or it is not what was sealed.
        """
        if not sealed.startswith(MARK):
            if self.accept_plain:
                return sealed
            raise Foreign(
                "is not encrypted; encrypt what was stored before there was a key with `sayso "
                "rekey`, and read it meanwhile with accept_plain=True"
            )
        name, begin = _key_id(sealed)
        key = self._keys.get(name)
        if key is None:
            raise (Unreadable if name else Foreign)(
                f"is encrypted with the key {_shown(name)!r}, which is not among the keys of this "
                f"process ({', '.join(self.ids)}); add it behind them"
            )
        try:
            text: bytes = key.decrypt(
                sealed[begin : begin + _NONCE_BYTES], sealed[begin + _NONCE_BYTES :], place
            )
        except Exception:  # the driver's InvalidTag, or a text that is too short to be one
            raise Foreign(
                f"does not open with the key {_shown(name)!r}: it was changed or moved, or another "
                "key had that id"
            ) from None
        return text


def key_id(stored: bytes) -> str | None:
    """The id of the key that sealed this; None if it is a clear text."""
    return _shown(_key_id(stored)[0]) if stored.startswith(MARK) else None


def keys_of(path: Path) -> dict[str, bytes]:
    """The keys of a file, in their order.

    Raises:
        DeclarationError: the file is missing, is no such file, or may be read by anybody.
    """
    try:
        with path.open(encoding="utf-8") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o027:
                raise DeclarationError(
                    f"others may read or change the key file {str(path)!r}; run chmod 600 on it"
                )
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    except FileNotFoundError:
        raise DeclarationError(
            f"there is no key file {str(path)!r}; make one with: sayso key new {path}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise DeclarationError(f"the key file {str(path)!r} cannot be read: {why}") from None
    keys: dict[str, bytes] = {}
    for number, words in enumerate(lines, 1):
        try:
            name, written = words
            key = b64decode(written, validate=True)
        except ValueError:
            key, name = b"", ""
        if len(key) != KEY_BYTES or name in keys:
            raise DeclarationError(
                f"key {number} of the file {str(path)!r} has to be an id of its own, a blank and "
                f"{KEY_BYTES} bytes in base64"
            )
        keys[name] = key
    if not keys:
        raise DeclarationError(f"the key file {str(path)!r} is empty; run: sayso key new {path}")
    return keys


def add_key(path: Path) -> str:
    """Make a key file with one key, or put a further key at its end; returns the key's id.

    The new key writes once its line stands first: all processes have to know it before that.

    Raises:
        DeclarationError: the file cannot be made, or is none of keys.
    """
    try:
        keys = keys_of(path) if path.exists() else {}
        name = str(max([int(name) for name in keys if name.isdecimal()], default=0) + 1)
        line = f"{name} {b64encode(os.urandom(KEY_BYTES)).decode()}\n"
        flags = os.O_WRONLY | (os.O_APPEND if keys else os.O_CREAT | os.O_EXCL)
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DeclarationError(
            f"the key file {str(path)!r} cannot be written: {error.strerror}"
        ) from None
    return name


def _aesgcm() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - an extra
            AESGCM,
        )
    except ImportError:
        raise DeclarationError(_EXTRA) from None
    return AESGCM


def _id_of(name: object) -> bytes:
    if isinstance(name, str) and name.isascii() and name.isprintable() and " " not in name:
        written = name.encode()
        if 0 < len(written) <= _MAX_ID_BYTES:
            return written
    raise DeclarationError(
        f"the id of a key is a text of 1 to {_MAX_ID_BYTES} ASCII characters without blanks, not "
        f"{name!r}"
    )


def _key_id(sealed: bytes) -> tuple[bytes, int]:
    """The id in front of sealed bytes, and where what follows begins."""
    begin = len(MARK) + 1
    end = begin + (sealed[len(MARK)] if len(sealed) > len(MARK) else 0)
    return sealed[begin:end], end


def _shown(name: bytes) -> str:
    return name.decode("ascii", "backslashreplace")
