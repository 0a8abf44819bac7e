"""The hands of `ops`: tools, which a model would choose, and steps, which its code takes.

Synchronous functions run in threads of their own. Each effect is written to the ledger under the
key of its call, so that `verify=` can tell after a crash whether it happened. `charge` alone has no
such hook: there a person is asked.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from sayso import DidNotHappen, Happened, Sayso, Turn, approval, current_call
from sayso.demo.ledger import Ledger
from sayso.demo.sandbox import OldFiles, Sandbox


@dataclass(frozen=True, slots=True)
class Delay:
    """The duration of things in seconds: a piece of text, and the work of the slow rows."""

    piece: float = 0.02
    work: float = 3.0

    async def working(self) -> None:
        """Returns when the work of a slow row is over."""
        await asyncio.sleep(self.work)


def kill_worker() -> None:
    """Die as in a power cut."""
    os.kill(os.getpid(), signal.SIGKILL)


def large(amount: float) -> bool:
    """True if a refund is large: the rule that gates refunds."""
    return amount > 100


class Ops:
    """Everything that the agent can do, over one ledger and one sandbox."""

    def __init__(
        self,
        app: Sayso,
        ledger: Ledger,
        sandbox: Sandbox,
        *,
        expires_in: float | None,
        pace: Delay,
        die: Callable[[], None] = kill_worker,
    ) -> None:
        self._ledger = ledger
        self._sandbox = sandbox
        self._die = die
        self.expires_in = expires_in
        self.pace = pace

        @app.tool(verify=self.happened)
        def order_status(order_id: str) -> dict[str, str]:
            """Look an order up; free, since it changes nothing."""
            order = {"order_id": order_id, "status": "delivered", "condition": "damaged"}
            ledger.record("lookup", {"order_id": order_id}, order)
            return order

        @app.tool(approval=approval.when(large), editable=True, verify=self.happened)
        def issue_refund(order_id: str, amount: Annotated[float, Field(gt=0)]) -> str:
            """Pay a customer back; a person decides above 100."""
            done = f"Refunded {amount:.2f} for order {order_id}."
            ledger.record("refund", {"order_id": order_id, "amount": amount}, done)
            return done

        @app.tool(approval=approval.always, verify=self.happened)
        def send_email(to: str, subject: str, body: str) -> str:
            """Send a mail, once a person has read it."""
            done = f"Sent to {to}."
            ledger.mail(to, subject, body, done)
            return done

        @app.tool(approval=approval.always, verify=self.happened)
        def restart_service(service: str) -> str:
            """Restart a service, once a person agrees."""
            done = f"Restarted {service}."
            ledger.record("again", {"service": service}, done)
            return done

        @app.tool(approval=approval.always, verify=self.happened)
        def reserve(town: str, parcels: int) -> str:
            """Reserve parcels at a warehouse, once a person agrees; an inner agent's tool."""
            done = f"Reserved {parcels} parcels in {town}."
            ledger.record("inner", {"town": town, "parcels": parcels}, done)
            return done

        @app.tool(approval=approval.always(remember=True), effect="read", verify=self.happened)
        def list_files(path: str | None = None) -> str:
            """List the files of a folder, or of all of them; a person may allow that for good."""
            count = sandbox.count(current_call().thread_id, path)
            done = f"Found {count} files in {path or 'all folders'}."
            ledger.record("list", {"path": path}, done)
            return done

        self.order_status = order_status
        self.list_files = list_files
        self.issue_refund = issue_refund
        self.send_email = send_email
        self.restart_service = restart_service
        self.reserve = reserve

    async def say(self, turn: Turn, text: str) -> None:
        """Say something piece by piece, as a model would."""

        async def pieces() -> AsyncIterator[str]:
            for piece in re.findall(r"\S+\s*", text):
                yield piece
                await asyncio.sleep(self.pace.piece)

        await turn.stream(pieces())

    async def happened(self, key: str) -> Happened | DidNotHappen:
        """After a crash: whether the call of that key took effect."""
        return await asyncio.to_thread(self._ledger.verify, key)

    # Steps

    def file_report(self, quarter: str, year: int, revenue: float) -> str:
        """File a quarterly report."""
        done = f"Filed {quarter} {year} with a revenue of {revenue:,.2f}."
        self._ledger.record("filing", {"quarter": quarter, "year": year, "revenue": revenue}, done)
        return done

    def deploy(self, build: str, notes: list[str]) -> str:
        """Deploy a build."""
        done = f"Build {build} is live."
        self._ledger.record("deploy", {"build": build, "notes": notes}, done)
        return done

    def schedule(self, subject: str, slot: str) -> str:
        """Put a meeting into the calendar."""
        done = f"We meet on {slot}."
        self._ledger.record("meeting", {"subject": subject, "slot": slot}, done)
        return done

    def publish(self, report: str) -> str:
        """Publish a report."""
        done = f"The {report} report is published."
        self._ledger.record("progress", {"report": report}, done)
        return done

    async def rebuild(self, what: str) -> str:
        """Rebuild something large: begun at once, and then it takes its time."""
        done = f"The {what} is rebuilt."
        await asyncio.to_thread(self._ledger.record, "slow", {"what": what}, done)
        await self.pace.working()
        return done

    def charge(self, order_id: str, amount: float) -> str | None:
        """Charge a card, and lose the server before anybody could note that it worked."""
        done = f"Charged {amount:.2f} for order {order_id}."
        self._ledger.record("charge", {"order_id": order_id, "amount": amount}, done)
        if self._ledger.is_first("crash"):
            self._die()
        return done

    def find_old_files(self, thread_id: str) -> OldFiles:
        """Look for old files, which the demo first puts there."""
        return self._sandbox.fill(thread_id)

    def clean_up(self, thread_id: str, action: str) -> str:
        """Do what was decided about the old files."""
        if action == "stage_only":
            count = self._sandbox.stage(thread_id)
            done = f"Moved {count} files to the staging folder."
        else:
            count = self._sandbox.delete(thread_id, scoped=action == "proceed_scoped")
            done = f"Deleted {count} files."
        self._ledger.record("cleanup", {"action": action, "files": count}, done)
        return done
