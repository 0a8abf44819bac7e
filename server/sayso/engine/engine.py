"""The engine: its services put together over one store, from their start to their end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sayso.agents.registry import Agents
from sayso.agents.toolset import Tools
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.directory import Directory
from sayso.base.limits import Limits
from sayso.base.logs import ScrubbedLogs
from sayso.base.metrics import Metrics
from sayso.base.records import Principal
from sayso.base.retention import KEEP_ALL, Retention
from sayso.base.scrubbing import Scrub
from sayso.engine.answers import AnswerService
from sayso.engine.approvals import ApprovalService
from sayso.engine.audit import Audit
from sayso.engine.claims import Claims
from sayso.engine.context import Contexts
from sayso.engine.erasure import Erasure, Keepers
from sayso.engine.export import Exports
from sayso.engine.health import Health
from sayso.engine.inbox import Inbox
from sayso.engine.instrumented import InstrumentedStore, with_scrubbed_trail
from sayso.engine.leases import LeaseKeeper
from sayso.engine.live import LiveRuns
from sayso.engine.logins import Logins
from sayso.engine.quotas import Quotas
from sayso.engine.repairs import Repairs
from sayso.engine.requests import Requests
from sayso.engine.retention import Removal, RetentionSweeper
from sayso.engine.runner import Runner
from sayso.engine.service_tokens import ServiceTokens
from sayso.engine.sessions import SessionService
from sayso.engine.sign_ins import Revoked, SignIns
from sayso.engine.stop import StopRequest, StopService
from sayso.engine.suggestions import Suggestions
from sayso.engine.sweeper import Sweeper
from sayso.engine.threads import Threads
from sayso.engine.validation import Looks
from sayso.stores.base import Store
from sayso.streams.ending import Ending
from sayso.turns.authorization import Authorization
from sayso.turns.denials import Denials
from sayso.turns.people import People
from sayso.turns.replay.effects import ToolThreads
from sayso.turns.services import Services
from sayso.turns.signing import Signer, Signing

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing

STOP_WAIT_S = 0.5
"""Seconds that a stop waits for the end of a run, so that the thread can be used right after."""

_GOING = Ending(
    type="error",
    code=Code.SHUTTING_DOWN.value,
    message="This server is shutting down: connect again to see the run continue.",
    details={"code": Code.SHUTTING_DOWN.value},
    continues_elsewhere=True,
)


class Engine:
    """Runs agents over one store. Nothing here is per user; every call names its principal."""

    def __init__(
        self,
        *,
        agents: Agents,
        tools: Tools,
        store: Store,
        clock: Clock,
        limits: Limits,
        tool_threads: int = 16,
        shared: bool = False,
        lease: float = 10.0,
        max_unattended: int = 8,
        prepare: Callable[[], Awaitable[None]] | None = None,
        authorization: Authorization | None = None,
        services_may_decide: bool = False,
        tracing: "Tracing | None" = None,
        directory: Directory | None = None,
        retention: Retention = KEEP_ALL,
        scrub: Scrub | None = None,
        revoked: Revoked | None = None,
        signer: Signer | None = None,
        signs_in: bool = False,
    ) -> None:
        """`prepare` is awaited before anything is begun: it may declare agents and tools."""
        self.store: Store = store
        self.tracing: Tracing | None = tracing
        self._logs, self._prepare = ScrubbedLogs(scrub), prepare
        metrics = Metrics()
        instrumented = InstrumentedStore(with_scrubbed_trail(store, scrub), metrics, clock)
        services = self._services = Services(
            store=instrumented,
            clock=clock,
            limits=limits,
            agents=agents,
            tools=tools,
            authorization=authorization or Authorization(),
            services_may_decide=services_may_decide,
            people=People(directory),
            signing=None if signer is None else Signing(signer, instrumented, clock, scrub),
            metrics=metrics,
            tracing=tracing,
            scrub=scrub,
        )
        self.quotas: Quotas = Quotas(limits, services.store, clock, shared=shared)
        self.service_tokens: ServiceTokens = ServiceTokens(services)
        self.logins: Logins = Logins(services)
        hook = self.logins.revoked_or(revoked) if signs_in else revoked
        self.sign_ins: SignIns = SignIns(clock, self.service_tokens, hook)
        self.logins.on_end = self.sign_ins.look_again
        self.authorization: Authorization = services.authorization
        self._keeper = LeaseKeeper(services.store, clock, seconds=lease)
        self._claims = Claims(services, self._keeper)
        self._suggestions = Suggestions(services, self.quotas)
        self._denials = Denials(services)
        self._stopping = StopService(services, self._claims, self._denials)
        self._live = LiveRuns(
            services,
            self._keeper,
            partial(ToolThreads, tool_threads, shared=shared),
            self._stopping.paused,
            self.quotas,
        )
        self._sweeper = Sweeper(
            services,
            self._claims,
            self._live,
            self._stopping,
            self._denials,
            at_once=max_unattended,
            shared=shared,
        )
        self.threads: Threads = Threads(services, retention)
        self.keepers: Keepers = Keepers(services, retention)
        self.retention: RetentionSweeper = RetentionSweeper(services, retention, self._stopping)
        self.sessions: SessionService = SessionService(services)
        self.inbox: Inbox = Inbox(services)
        self.contexts: Contexts = Contexts(services, self.inbox)
        self.approvals: ApprovalService = ApprovalService(services)
        self.audit: Audit = Audit(services)
        self.exports: Exports = Exports(services, self.audit)
        self.looks: Looks = Looks(services, self._claims, self._live)
        self.answers: AnswerService = AnswerService(
            services, self.looks, self._claims, self._live, self.inbox, self._denials
        )
        self.requests: Requests = Requests(
            services,
            self._claims,
            self._live,
            answers=self.answers,
            denials=self._denials,
            looks=self.looks,
            quotas=self.quotas,
            suggestions=self._suggestions,
        )
        self.repairs: Repairs = Repairs(
            services, self.threads, self._claims, self._live, self._stopping, self._denials
        )
        self.health: Health = Health(services, self._live.running)
        self._open = False

    async def start(self, *, sweep: bool = True) -> None:
        """Open the store, keep leases; with `sweep`, act without a request too. Idempotent.

        Raises:
            StoreUnavailable: the store cannot be opened.
            DeclarationError: the app cannot be prepared.
        """
        if not self._open:
            self._logs.begin()
            if self._prepare is not None:
                await self._prepare()
            for _, tool in self._services.tools.all():
                tool.check_kept(sealed=self.store.codec is not None)
            await self.store.open()
            self.exports.open()
            self._keeper.start(self._live.told_to_stop)
            self._live.open(follow=sweep)
            if sweep:
                self._sweeper.start()
                self.retention.start()
            self._open = True

    async def stop(self, grace: float = 10.0, answered: asyncio.Event | None = None) -> None:
        """Let turns end for `grace` seconds, the rest elsewhere; close once all is `answered`."""
        if not self._open:
            return
        self._open = False
        await self._sweeper.stop()
        await self.retention.stop()
        await self.inbox.close()
        self.exports.close()
        await self._suggestions.close()
        await self._live.close(grace, _GOING)
        self._keeper.stop()
        if answered is not None:
            await answered.wait()
        await self.store.close()
        self._logs.end()

    def removal(self, by: str) -> Removal:
        """The way for somebody to remove what is too old, at once."""
        return Removal(self._services, self._stopping, by)

    def erasure(self, scope: str, subject: str, by: str, *, looks: bool) -> Erasure:
        """The way for a keeper to erase a person, once `keepers` has checked who that is."""
        return Erasure(self._services, self._stopping, scope, subject, by, looks=looks)

    async def stop_thread(
        self,
        principal: Principal,
        thread_id: str,
        run_id: str | None = None,
        *,
        waiting: bool = True,
        stopper: StopRequest | None = None,
    ) -> bool:
        """Stop a thread's run; True if something was stopped.

        Nothing is stopped if the thread does another run than `run_id`. A run has the id that it
        was begun with, and that of each reader who follows it here. A turn that waits is ended too,
        its questions cancelled, unless `waiting` is false. `stopper` is who stops it if not the
        caller. Returns once a run of this process has ended, or will at its next record.

        Raises:
            Problem: `unknown_thread`, the thread is not the caller's.
        """
        if run_id is not None and self._live.follows(principal.scope, thread_id, run_id):
            run_id = None
        runner: Runner | None = None

        def running_here(stopper: StopRequest, fence: int) -> bool:
            nonlocal runner
            runner = self._live.stop(principal.scope, thread_id, fence, stopper)
            return runner is not None

        stopped = await self._stopping.stop(
            principal,
            thread_id,
            run_id,
            waiting=waiting,
            running_here=running_here,
            stopper=stopper,
        )
        self._services.changed(principal.scope)
        if runner is None:
            return stopped
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_WAIT_S):
                await runner.over.wait()
        return runner.ending is None or runner.ending.type == "cancelled"
