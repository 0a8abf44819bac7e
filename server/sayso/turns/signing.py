"""Signs what people say to questions, before the step that keeps it; without a signer nothing.

No store waits for a signer: a step that lost its compare-and-set is decided and signed again.
"""

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.audit import content_of, encoded, rows_of_interrupt, scrubbed
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.fastrecords import copy_with
from sayso.base.progress import Proof, Signature
from sayso.base.records import ChangeKind, Interrupt, PageRequest
from sayso.base.scrubbing import Scrubbing, is_scrubbed_form
from sayso.base.signatures import PublicKey, Verdict, Word, words_of
from sayso.gate.case import GateDecision, HoldAnswers, Resume
from sayso.stores.base import Store, every
from sayso.turns.hooks import ask_hook
from sayso.turns.keys import Keys

_log = logging.getLogger("sayso.signing")

Signer = Callable[[bytes], Awaitable[tuple[str, bytes]]]
"""Signs bytes: gives the id of the key and the signature. Its attribute `keys`, if it has one, are
the `PublicKey`s that check it."""

_OPTION: Final = "signer"
_MAX_KEY_CHARS: Final = 128
_MAX_BYTES: Final = 1_024


class Signing:
    """The signer of an app, and the keys that check what was signed."""

    def __init__(
        self, signer: Signer, store: Store, clock: Clock, scrub: Scrubbing | None = None
    ) -> None:
        """`scrub` is what texts pass that go into the trail."""
        self._scrub = scrub
        self._signer, self._store, self._clock = signer, store, clock
        keys: Sequence[PublicKey] = getattr(signer, "keys", ())
        self.keys: Keys = Keys(keys)

    async def signed(
        self, scope: str, thread_id: str, items: Iterable[Interrupt]
    ) -> tuple[Interrupt, ...]:
        """The questions with a signature under each word of a person that has none.

        Raises:
            Problem: `signer_unavailable`, nothing may be decided now.
        """
        return tuple([await self._one(scope, thread_id, item) for item in items])

    async def _one(self, scope: str, thread_id: str, item: Interrupt) -> Interrupt:
        """Sign the answer of a settled question, or one that is held; else who has just agreed."""
        progress, held = item.progress, item.held
        if item.status != "open":
            if item.decided_by is None:
                return item
            proof = await self._proof(scope, thread_id, "settled", item, progress.proof)
            return copy_with(item, progress=copy_with(progress, proof=proof))
        if held is not None:
            if held.proof.signature is not None:
                return item
            proof = await self._proof(scope, thread_id, "held", item, held.proof)
            return copy_with(item, held=copy_with(held, proof=proof))
        votes = [
            copy_with(
                vote,
                proof=await self._proof(scope, thread_id, "agreed", item, vote.proof, vote.by),
            )
            for vote in progress.votes
        ]
        return copy_with(item, progress=copy_with(progress, votes=tuple(votes)))

    async def _proof(
        self,
        scope: str,
        thread_id: str,
        change: ChangeKind,
        item: Interrupt,
        proof: Proof,
        by: str | None = None,
    ) -> Proof:
        """The proof with a signature under what the row of this change will tell of.

        One that has a signature keeps it, unless the patterns of `Scrub` are others by now and the
        row has other texts: then these are signed, if the trail shows that they are the same word.
        """
        word = await self._word(scope, change, item, by, self._scrub)
        if word is None:  # it is cancelled, and says nothing more
            return proof
        if proof.signature is not None:
            clear = await self._word(scope, change, item, by, None)
            if (
                verdict(self.keys, scope, thread_id, word) != "invalid"
                or clear is None
                or not await self._was_said(scope, thread_id, clear)
            ):
                return proof
        now = self._clock.now()
        key, value = await self._sign(word.statement(scope, thread_id, now))
        return copy_with(proof, signature=Signature(key=key, signed_at=now, value=value))

    async def _word(
        self,
        scope: str,
        change: ChangeKind,
        item: Interrupt,
        by: str | None,
        scrub: Scrubbing | None,
    ) -> Word | None:
        """The word that the row of a change tells of; of `by`, if several have agreed."""
        event = rows_of_interrupt(change, item)
        if scrub is not None:
            event = scrubbed(event, scrub)
        names: dict[str, str] = {}

        def note(name: str) -> str:
            names[name] = ""
            return name

        encoded(event, note)
        for name in names:
            names[name] = await self._store.person(scope, name)
        kind, content = encoded(event, names.__getitem__)
        who = None if by is None else names[by]
        words = words_of(kind, jsonvalue.decode(content))
        return next((w for w in words if who in (None, w.by)), None)

    async def _was_said(self, scope: str, thread_id: str, word: Word) -> bool:
        """True if the trail has this word under its signature, scrubbed as it was then."""
        rows = every(
            lambda after: self._store.audit(scope, PageRequest(after), thread_id=thread_id)
        )
        async for row in rows:
            for said in words_of(row.kind, content_of(row) or {}):
                if (
                    (said.interrupt_id, said.kind) == (word.interrupt_id, word.kind)
                    and said.signature == word.signature
                    and verdict(self.keys, scope, thread_id, said) == "valid"
                    and is_scrubbed_form(said.content, word.content)
                ):
                    return True
        return False

    async def _sign(self, statement: bytes) -> tuple[str, str]:
        made: Any = await ask_hook(_OPTION, lambda: self._signer(statement), failed)
        if wrong := self._wrong(made, statement):
            _log.error("signer gave %s, so nothing was decided", wrong)
            raise failed(_OPTION)
        key, value = made
        return key, b64encode(value).decode()

    def _wrong(self, made: Any, statement: bytes) -> str | None:
        """The fault of what a signer gave; None if it is a signature."""
        if not (isinstance(made, tuple) and len(made) == 2):
            return f"a {type(made).__name__}, and not a key's id and a signature"
        key, value = made
        if not (isinstance(key, str) and 0 < len(key) <= _MAX_KEY_CHARS and key.isprintable()):
            return "no id of a key"
        if not (isinstance(value, bytes) and 0 < len(value) <= _MAX_BYTES):
            return "no bytes of a signature"
        if not self.keys.listed:
            return None
        if all(key != listed.id for listed in self.keys.listed):
            return f"key {key!r}, which is none of its public keys"
        fits = self.keys.fits(key, value, statement)
        return None if fits else f"a signature that key {key!r} has not made"


async def signed(
    signing: Signing, scope: str, thread_id: str, decision: GateDecision
) -> GateDecision:
    """The decision as it is carried out: signed, where somebody said a word.

    Raises:
        Problem: `signer_unavailable`, nothing may be decided now.
    """
    if isinstance(decision, Resume):
        return replace(decision, settle=await signing.signed(scope, thread_id, decision.settle))
    if isinstance(decision, HoldAnswers):
        return replace(decision, items=await signing.signed(scope, thread_id, decision.items))
    return decision


def verdict(keys: Keys, scope: str, thread_id: str, word: Word) -> Verdict:
    """The worth of a word's signature to who has these keys."""
    signature = word.signature
    if signature is None:
        return "unsigned"
    good = keys.check(signature, word.statement(scope, thread_id, signature.signed_at))
    return "unknown" if good is None else "valid" if good else "invalid"


def failed(option: str) -> Problem:
    """The problem of a signer that gave no signature."""
    return Problem(
        Code.SIGNER_UNAVAILABLE,
        f"What you decide cannot be signed now: {option} failed. Nothing was decided; send it "
        "again.",
    )
