"""Keys that sign what people decided, and that check it; needs the extra `signatures`.

A file has keys one after the other, as PEM: private ones, of which the last one signs, and public
ones of which only signatures are left. A line `Since: 2030-01-31T12:00:00Z` before one says when it
began to sign.
"""

import hashlib
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from sayso.base import jsonvalue
from sayso.base.clock import parse_time
from sayso.base.errors import DeclarationError
from sayso.base.progress import Signature
from sayso.base.signatures import PublicKey

_BLOCK: Final = re.compile(
    r"(?:^Since:[ \t]*(\S+)[ \t]*$[^-]*)?"
    r"(-----BEGIN (PUBLIC|PRIVATE) KEY-----.+?-----END \3 KEY-----)",
    re.MULTILINE | re.DOTALL,
)


class Ed25519:
    """Signs decisions with the newest key of a file: `Sayso(signer=Ed25519.from_file(path))`."""

    def __init__(self, private: Any, keys: Sequence[PublicKey]) -> None:
        """`private` is of the last of these keys that has one; see `from_file`."""
        self._private = private
        self._id = _public(private.public_key(), None).id
        self.keys: tuple[PublicKey, ...] = tuple(keys)
        """The public parts of all keys of the file, oldest first."""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read keys: PEM as of `openssl genpkey -algorithm ed25519`, the newest behind the others.

        Raises:
            DeclarationError: it cannot be read, or has no private key of Ed25519.
        """
        kind = _library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey
        keys, private = [], None
        for loaded, since in _loaded(path):
            if isinstance(loaded, kind):
                private = loaded
            elif hasattr(loaded, "private_bytes"):
                raise DeclarationError(f"{path} has a private key that is not of Ed25519")
            keys.append(_public(getattr(loaded, "public_key", lambda own=loaded: own)(), since))
        if private is None:
            raise DeclarationError(
                f"{path} has no private key of Ed25519; make one with: "
                f"openssl genpkey -algorithm ed25519 -out {path}"
            )
        return cls(private, keys)

    async def __call__(self, data: bytes) -> tuple[str, bytes]:
        """The id of the newest key, and its signature."""
        return self._id, self._private.sign(data)


def read_public_keys(path: Path) -> tuple[PublicKey, ...]:
    """Read keys that check: what `GET /audit/keys` gives, or PEM as in a file of keys.

    Raises:
        DeclarationError: it cannot be read, or has no key.
    """
    text = _text(path)
    if text.lstrip().startswith("{"):
        try:
            items: Any = jsonvalue.decode(text.encode())["items"]
            keys = tuple(
                PublicKey(
                    id=str(item["id"]),
                    pem=str(item["publicKey"]),
                    since=None if item.get("since") is None else parse_time(item["since"]),
                )
                for item in items
            )
            checked = Keys(keys)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DeclarationError(f"{path} is no list of keys: {error!r}") from None
        return checked.listed
    keys = tuple(
        _public(getattr(loaded, "public_key", lambda own=loaded: own)(), since)
        for loaded, since in _loaded(path)
    )
    if not keys:
        raise DeclarationError(f"{path} has no keys as PEM")
    return keys


class Keys:
    """Public keys that check signatures.

    Raises:
        DeclarationError: one of them cannot be read.
    """

    def __init__(self, keys: Iterable[PublicKey]) -> None:
        self.listed: tuple[PublicKey, ...] = tuple(keys)
        self._loaded = {key.id: _key_of(key.pem, key.id) for key in self.listed}

    @property
    def since(self) -> int:
        """When the oldest began to sign, in milliseconds; 0 where one does not say."""
        return min((key.since or 0 for key in self.listed), default=0)

    def check(self, signature: Signature, statement: bytes) -> bool | None:
        """True if the signature is under this statement; None where nobody has its key."""
        key = self._loaded.get(signature.key)
        if key is None:
            return None
        try:
            value = b64decode(signature.value, validate=True)
        except (NotBase64, ValueError):
            return False
        return self.fits(signature.key, value, statement)

    def fits(self, key_id: str, value: bytes, statement: bytes) -> bool:
        """True if a known key made this of the statement."""
        key = self._loaded[key_id]
        wrong = _library("exceptions").InvalidSignature
        try:
            if hasattr(key, "curve"):  # ECDSA, as most key services have it
                hashes = _library("hazmat.primitives.hashes")
                ecdsa = _library("hazmat.primitives.asymmetric.ec").ECDSA
                key.verify(value, statement, ecdsa(hashes.SHA256()))
            else:
                key.verify(value, statement)
        except wrong:
            return False
        return True


def _public(key: Any, since: int | None) -> PublicKey:
    serialization = _library("hazmat.primitives.serialization")
    encoding, form = serialization.Encoding, serialization.PublicFormat.SubjectPublicKeyInfo
    name = hashlib.sha256(key.public_bytes(encoding.DER, form)).hexdigest()[:16]
    return PublicKey(name, key.public_bytes(encoding.PEM, form).decode(), since)


def _key_of(pem: str, name: str) -> Any:
    key = _load(pem, f"key {name!r}", private=False)
    if not (hasattr(key, "curve") or type(key).__name__.startswith("Ed25519")):
        raise DeclarationError(f"key {name!r} is neither of Ed25519 nor of ECDSA")
    return key


def _loaded(path: str | Path) -> Iterator[tuple[Any, int | None]]:
    for since, pem, kind in _BLOCK.findall(_text(Path(path))):
        try:
            began = parse_time(since) if since else None
        except ValueError:
            raise DeclarationError(f"{path}: Since: {since} is no time with an offset") from None
        yield _load(pem, str(path), private=kind == "PRIVATE"), began


def _load(pem: str, where: str, *, private: bool) -> Any:
    serialization = _library("hazmat.primitives.serialization")
    unsupported: type[Exception] = _library("exceptions").UnsupportedAlgorithm
    try:
        if private:
            return serialization.load_pem_private_key(pem.encode(), password=None)
        return serialization.load_pem_public_key(pem.encode())
    except (ValueError, TypeError, unsupported) as error:
        raise DeclarationError(f"{where} cannot be read: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise DeclarationError(f"keys cannot be read: {error}") from None


def _library(name: str) -> Any:
    try:
        return import_module(f"cryptography.{name}")
    except ImportError:
        raise DeclarationError(
            "signatures need the package cryptography: pip install 'sayso[signatures]'"
        ) from None
