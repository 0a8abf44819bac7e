"""How fast an audit trail is verified, in rows a second: `python bench/trail.py --rows 1000000`.

One thread's rows in an SQLite file: one question asked, seen, agreed to and answered, and the call
that it lets run, again and again. What `sayso audit THREAD` does is measured: each row is read,
held against its digests and told with names, and each question is held against its rows. It is
processor time, so that others on the machine count little. The target is 50,000 rows a second.
"""

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

from sayso import Principal, Sayso
from sayso.base.audit import GENESIS, Event, chained, encoded, new_person, new_salt
from sayso.engine.audit import AUDITOR
from sayso.http.options import ServerOptions

TARGET = 50_000
"""Rows a second."""
SCOPE, THREAD, OWNER = "default", "t", "ann"
_ADD = (
    "INSERT INTO audit (scope, thread_id, at, number, owner, kind, content, salt, content_digest,"
    " digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def events() -> list[Event]:
    """What happens once, with names."""
    arguments = {"order_id": "A-17", "amount": 240.0, "note": "The box was crushed."}
    call: dict[str, Any] = {"interruptId": "int_1", "reason": "tool_call", "toolCallId": "call_1"}
    ours = {"sayso": {"tool": "issue_refund", "arguments": arguments, "rule": "always"}}
    agreed = [{"by": "lea", "at": 1, "channel": "inbox", "roles": ["lead"]}]
    said = {"by": "leo", "roles": ["lead"], "channel": "inbox"}
    ran = {"toolCallId": "call_1", "tool": "issue_refund", "arguments": "5f" * 32, "by": "leo"}
    return [
        ("viewed", {"interruptId": "int_1", "by": "lea", "digest": "0a" * 32}),
        ("agreed", call | {"by": "lea", "agreed": agreed}),
        ("resolved", call | said | {"payload": {"approved": True}, "metadata": ours}),
        ("started", ran),
        ("executed", ran | {"resultDigest": "1b" * 32}),
    ]


def fill(file: Path, count: int) -> None:
    """Write the rows, each with the digests of those before."""
    with closing(sqlite3.connect(file)) as db, db:
        people = {name: new_person(name) for name in (OWNER, "lea", "leo")}
        db.executemany(
            "INSERT INTO person (scope, id, name, salt) VALUES (?, ?, ?, ?)",
            [(SCOPE, person.id, person.name, person.salt) for person in people.values()],
        )
        owner = people[OWNER].id
        contents = cycle([encoded(event, lambda name: people[name].id) for event in events()])

        def rows() -> Iterator[tuple[Any, ...]]:
            digest = GENESIS
            for number, (kind, content) in zip(range(1, count + 1), contents, strict=False):
                whose, salt = (SCOPE, THREAD, owner), new_salt()
                inner, digest = chained(whose, digest, number, 1_000, kind, content, salt)
                yield SCOPE, THREAD, 1_000, number, owner, kind, content, salt, inner, digest

        db.executemany(_ADD, rows())


async def rows_a_second(file: Path, count: int) -> float:
    """Verify the trail once."""
    app = Sayso(store=f"sqlite:///{file}", server=ServerOptions(console=False))
    async with app.lifespan():
        await asyncio.to_thread(fill, file, count)
        auditor = Principal(subject=AUDITOR, scope=SCOPE, roles=(AUDITOR,))
        begun = time.process_time()
        chain = await app._engine.audit.verify(auditor, THREAD)
        took = time.process_time() - begun
    if (chain.rows, chain.broken_at) != (count, None):
        raise SystemExit(f"the trail does not verify: {chain}")
    return count / took


def main() -> None:
    """Print the rate; exit code 1 if it is below the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    count = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        rate = asyncio.run(rows_a_second(Path(folder) / "trail.db", count))
    sys.stdout.write(f"{count} rows: {rate:,.0f} rows a second (wanted {TARGET:,})\n")
    sys.exit(rate < TARGET)


if __name__ == "__main__":
    main()
