"""Threads that have a text at every place of a store, and all the ways to these."""

from typing import Any

from sayso.base.records import Approval, Commit, Run
from sayso.base.secretvalues import SecretValue
from sayso.base.service_tokens import ServiceToken
from sayso.stores.aesgcm import KEY_BYTES
from sayso.stores.sealing import INTERRUPT_TEXTS
from sayso.testing.store_suite._make import (
    PROGRESS,
    SCOPE,
    TERMS,
    THREAD,
    answer,
    claim,
    entry,
    message,
    question,
    run,
    turn,
)

__all__ = ["NEW", "OLD", "SECRET", "TEXTS", "fill", "read"]

OLD, NEW = b"o" * KEY_BYTES, b"n" * KEY_BYTES
SECRET = "geheim"  # noqa: S105 - a text to look for
TEXTS = {
    "state": ("body",),
    "kept": ("body",),
    "request": ("body",),
    "run": ("outcome",),
    "message": ("body",),
    "entry": ("fingerprint", "data"),
    "interrupt": INTERRUPT_TEXTS,
    "approval": ("pattern", "terms"),
    "secret": ("body",),
}
"""The columns of SQL stores that are encrypted, but for those of the audit trail."""


async def fill(store: Any, name: str = THREAD) -> None:
    """Begin a thread with a text at every place of it, and make a service's token beside it."""
    said = b'{"text":"%s"}' % SECRET.encode()
    asked = question(
        f"int_{name}",
        turn_key=f"turn_{name}",
        message=SECRET,
        response_schema=said,
        metadata=said,
        payload=said,
        answer_metadata=said,
        terms=TERMS,
        progress=PROGRESS,
        held=answer(payload=said),
    )
    lease = await store.claim(
        claim(
            thread_id=name,
            turn=turn(f"turn_{name}", request=said),
            run=run(f"run_{name}", turn_key=f"turn_{name}"),
            state=said,
            kept=said,
            messages=(message(f"m_{name}", body=said),),
            interrupts=(asked,),
            entries=(entry("1", fingerprint=SECRET, data=said),),
            secrets=() if store.codec is None else (SecretValue(id="a" * 64, body=said),),
        )
    )
    ended = Run(
        key=f"run_{name}",
        run_id="r-1",
        turn_key=f"turn_{name}",
        started_at=1,
        ended_at=2,
        outcome=b'{"type":"success","result":"%s"}' % SECRET.encode(),
    )
    given = Approval(
        id=f"apr_{name}",
        owner="ann",
        tool="send",
        pattern=said,
        rules=("always",),
        given_by="bob",
        given_at=3,
        interrupt_id=asked.id,
        thread_id=name,
        terms=said,
    )
    suspended = turn(f"turn_{name}", request=said, status="suspended")
    await store.commit(
        lease, Commit(now=3_000, run=ended, turn=suspended, approvals=(given,), release=True)
    )
    await store.add_service_token(
        ServiceToken(
            id=f"svc_{name}",
            scope=SCOPE,
            name="ci",
            digest=f"digest of {name}",
            roles=(SECRET,),
            added_by="bob",
            added_at=4,
        )
    )


async def read(store: Any, name: str = THREAD) -> list[Any]:
    """All that a thread has, by each way to it."""
    return [
        await store.secrets(SCOPE, name),
        await store.load(SCOPE, name),
        await store.journal(SCOPE, f"turn_{name}"),
        await store.interrupts(SCOPE),
        await store.interrupt(SCOPE, f"int_{name}"),
        await store.threads(SCOPE),
        await store.runs(SCOPE, name),
        await store.approval(SCOPE, f"apr_{name}"),
        await store.approvals(SCOPE, 3),
        await store.valid_approvals(SCOPE, "ann", "send", 3),
        await store.service_tokens(SCOPE),
    ]
