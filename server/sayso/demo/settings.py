"""The settings of `sayso demo`, checked and complete, in a form that its processes pass on."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from sayso.base import jsonvalue

DEFAULT_STORE = "sqlite:///.sayso/demo.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The demo as it is served. Seconds in `expires_in` and `keep_alive`; absolute folders."""

    host: str
    port: int
    store: str
    data: str
    expires_in: float
    keep_alive: float
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    insecure_no_auth: bool = False
    browser: bool = False
    log_format: str = "text"
    model: str | None = None
    base_url: str | None = None
    no_model: bool = False
    again: bool = False
    """True if this server takes the place of one that was killed."""

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(  # noqa: S104 - compared, not bound
            self.host, f"[{self.host}]" if ":" in self.host else self.host
        )
        return f"http://{host}:{self.port}"

    def to_json(self) -> bytes:
        """One line."""
        return jsonvalue.encode(asdict(self))

    @classmethod
    def from_json(cls, line: bytes) -> Self:
        """From what `to_json` made."""
        values = jsonvalue.decode(line)
        return cls(
            **{**values, "origins": tuple(values["origins"]), "hosts": tuple(values["hosts"])}
        )

    @property
    def shown_store(self) -> str:
        """The store's URL without a password."""
        return re.sub(r"//[^/@]*@", "//…@", self.store)


def data_beside(store: str) -> Path | None:
    """The data folder that belongs to a store's URL; None for one that is no file."""
    if not store.startswith("sqlite:///"):
        return None
    path = Path(store.removeprefix("sqlite:///"))
    return path.with_name(f"{path.stem}-data")
