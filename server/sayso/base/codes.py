"""The stable code of everything that goes wrong on the wire, with what clients and docs read of it.

A code has its facts here and nowhere else. The tables of the web client, of `docs/http.md` and of
`docs/troubleshooting.md` are written from this module by `tests/unit/test_codes.py`. The docstring
of a code says what happened, then, after an empty line, what to do.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

Kind = Literal["problem", "refusal", "ending"]
"""`problem`: an HTTP error without a stream (RFC 9457). `refusal`: a decision of the gate that
changed nothing; over a stream RUN_STARTED, RUN_ERROR. `ending`: the last event of a stream."""


@dataclass(frozen=True)
class Facts:
    """The facts of one code; `status` is there for each code that is a problem, and only then."""

    kinds: tuple[Kind, ...]
    status: int | None = None
    stale: bool = False
    """Only the server knows what is open now: the client must refresh."""
    lasting: bool = False
    """The server refuses the same request however often it is sent."""
    fatal: bool = False
    """The client cannot continue from here: it gets an error in recover mode too."""
    chat: str = ""
    """What people read for it, with `{by}` for who decided; without it, what the server says."""


_PROBLEM: tuple[Kind, ...] = ("problem",)
_REFUSAL: tuple[Kind, ...] = ("problem", "refusal")
_ENDING = Facts(("ending",))


class Code(StrEnum):
    """The stable names of everything that can go wrong on the wire (TR-33, OC-11)."""

    facts: Facts

    def __new__(cls, text: str, facts: Facts = _ENDING) -> Self:
        """Make a member that is equal to its text and carries its facts."""
        code = str.__new__(cls, text)
        code._value_ = text
        code.facts = facts
        return code

    # before the stream

    MALFORMED_JSON = "malformed_json", Facts(_PROBLEM, 400)
    """The body is not JSON.

    Send one JSON object in UTF-8; the problem says where reading stopped.
    """
    INVALID_QUERY = "invalid_query", Facts(_PROBLEM, 400)
    """A parameter of the query has an unknown value.

    Use one of the values that the problem lists, or leave the parameter out.
    """
    INVALID_INPUT = "invalid_input", Facts(_REFUSAL, 422, lasting=True)
    """A known member of the request has the wrong type, is missing, or is over a limit.

    Correct what `errors` names; each entry is a JSON Pointer into the request and a message.
    """
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", Facts(_PROBLEM, 415)
    """The body is not `application/json` in UTF-8, or is compressed.

    Send `Content-Type: application/json`, without `Content-Encoding`.
    """
    UNSUPPORTED_VERSION = "unsupported_version", Facts(_PROBLEM, 422)
    """The request declares a version of the protocol that this server does not speak.

    Declare `"protocolVersion": "1.0"`, or none.
    """
    BODY_TOO_LARGE = "body_too_large", Facts(_PROBLEM, 413)
    """The body is over the limit, 32 MiB by default.

    Send less, or raise `Limits(body=…)` ([options](options.md)).
    """
    METHOD_NOT_ALLOWED = "method_not_allowed", Facts(_PROBLEM, 405)
    """The path exists, but not for this method.

    Use a method of the `Allow` header.
    """
    NOT_FOUND = "not_found", Facts(_PROBLEM, 404)
    """Nothing is served at this path.

    See the [paths](http.md). Behind a proxy, check the prefix and that it does not decode paths.
    """
    UNKNOWN_AGENT = "unknown_agent", Facts(_PROBLEM, 404)
    """No agent has this name, or the caller may not know of it.

    `GET /agents` lists those that are served.
    """
    NOT_ALLOWED = (
        "not_allowed",
        Facts(
            ("problem", "ending"),
            403,
            lasting=True,
            chat="You may not do that here. Ask whoever runs this server.",
        ),
    )
    """The `authorize=` hook does not let this caller run, copy or restart this agent; or only a
    keeper may do this, or another keeper than the owner of the thread.

    Ask whoever runs the server ([approvers](approvers.md#who-may-use-what),
    [retention](retention.md#holds)). Nothing was stored.
    """
    UNKNOWN_THREAD = (
        "unknown_thread",
        Facts(
            _PROBLEM,
            404,
            lasting=True,
            chat="This conversation does not exist, or it is not yours.",
        ),
    )
    """There is no such thread, or it belongs to another user.

    `GET /threads` lists the caller's own. For a new conversation use an id that nobody has taken.
    """
    UNKNOWN_APPROVAL = (
        "unknown_approval",
        Facts(_PROBLEM, 404, chat="This approval is no longer remembered."),
    )
    """There is no such remembered approval: it was revoked, has expired, or is another user's.

    `GET /approvals` lists those that are valid.
    """
    UNAUTHENTICATED = "unauthenticated", Facts(_PROBLEM, 401, chat="Sign in to continue.")
    """The `authenticate=` hook recognised nobody; or the sign-in has ended, or was revoked.

    Send valid credentials.
    """
    FORBIDDEN_HOST = "forbidden_host", Facts(_PROBLEM, 421)
    """The `Host` of the request is neither loopback nor configured (DNS rebinding).

    Name it in `hosts=`, or have the proxy send one that is named there.
    """
    FORBIDDEN_ORIGIN = "forbidden_origin", Facts(_PROBLEM, 403)
    """A page of another origin called the server.

    Name the origin in `origins=` if it may ([deployment](deployment.md)).
    """
    LOOPBACK_ONLY = "loopback_only", Facts(_PROBLEM, 403)
    """The app has no `authenticate=`, so it serves its own machine only, and this request came
    through a proxy or from elsewhere.

    Give the app an `authenticate=` hook ([deployment](deployment.md)).
    """
    TOO_MANY = "too_many", Facts(_PROBLEM, 429)
    """The caller, or all of a tenant, has as many runs, streams, threads or requests as allowed.

    Wait for the seconds of `Retry-After`, then send it again. `limit` names what there is too much
    of, and `max` how much there may be ([limits](limits.md)).
    """
    STORE_UNAVAILABLE = (
        "store_unavailable",
        Facts(
            ("problem", "ending"),
            503,
            chat="The server cannot save at the moment. Nothing was lost; try again.",
        ),
    )
    """The store cannot be reached or cannot write; nothing was lost.

    Send the request again; a turn continues from its last record once the store can write.
    """
    AUTH_UNAVAILABLE = "auth_unavailable", Facts(("problem", "ending"), 503)
    """Who is calling, or what they may do, cannot be checked. The keys of the token issuer cannot
    be read; or `authorize=`, `revoked=` or `directory=` raised, or took more than 5 seconds.

    Send the request again; a turn continues by itself. If it stays, read the server's log.
    """
    SIGNER_UNAVAILABLE = (
        "signer_unavailable",
        Facts(_PROBLEM, 503, chat="This cannot be decided at the moment. Try again."),
    )
    """Decisions are signed here (`signer=`), and this one cannot be: the signer raised, took more
    than 5 seconds, or gave what is no signature. Nothing was decided.

    Send the same answer again. If it stays, read the server's log.
    """
    INTERNAL_ERROR = "internal_error", Facts(("problem", "ending"), 500)
    """The server failed; its log has the reason.

    Read the log. Answers that were taken are stored.
    """

    # refusals of the gate

    INTERRUPTS_PENDING = (
        "interrupts_pending",
        Facts(
            _REFUSAL,
            409,
            stale=True,
            chat="There are open questions here. Answer them first.",
        ),
    )
    """The thread waits for answers, and the request brings none.

    Answer or cancel every open question before you send anything else. `on_message=` lets a message
    answer or cancel ([options](options.md)).
    """
    PARTIAL_RESUME = (
        "partial_resume",
        Facts(
            _REFUSAL,
            422,
            stale=True,
            chat="Some questions have no answer yet. Answer all of them.",
        ),
    )
    """The request answers some of the open questions, not all.

    Answer or cancel all of them in one request, or set `partial="accumulate"`
    ([options](options.md)). Results of client tools count too: `toolCallIds` lists what is missing.
    """
    UNKNOWN_INTERRUPT = (
        "unknown_interrupt",
        Facts(
            _REFUSAL,
            404,
            stale=True,
            lasting=True,
            chat="That question no longer exists here, so your answer was not used.",
        ),
    )
    """An answer names a question that this thread never asked, or the thread is gone.

    Connect to the thread to see what is open. Nothing was started.
    """
    DUPLICATE_ENTRY = (
        "duplicate_entry",
        Facts(
            _REFUSAL,
            422,
            lasting=True,
            chat="A question had two different answers, so none was used. Send one.",
        ),
    )
    """One request answers the same question twice and differently.

    Send one answer for each question.
    """
    INVALID_PAYLOAD = (
        "invalid_payload",
        Facts(
            _REFUSAL,
            422,
            lasting=True,
            chat="That answer does not fit the question. Check it, then send it again.",
        ),
    )
    """A payload does not fit its question, or a state does not fit its agent.

    Correct what `problems` (of an answer) or `errors` (of the request) names, and send all again.
    """
    INTERRUPT_EXPIRED = (
        "interrupt_expired",
        Facts(
            _REFUSAL,
            410,
            stale=True,
            lasting=True,
            chat="That question had expired before your answer came. Ask again if needed.",
        ),
    )
    """The answer came at or after `expiresAt`, by the server's clock.

    Cancel the question if it is still open, or ask the agent again. `expires_in=` gives more time,
    `POST /interrupts/{id}/extend` adds some.
    """
    ALREADY_RESOLVED = (
        "already_resolved",
        Facts(
            _REFUSAL,
            409,
            stale=True,
            lasting=True,
            chat="That was already decided{by}, so your answer was not used.",
        ),
    )
    """The question was settled with another answer; `by` and `at` say by whom and when.

    Refresh. An answer equal to the settled one is no error.
    """
    THREAD_BUSY = (
        "thread_busy",
        Facts(
            _REFUSAL,
            409,
            stale=True,
            chat="The agent is still working here. Try again when it has finished.",
        ),
    )
    """A run of this thread is going on, or the thread changes faster than it can be read.

    Send it again when the run has ended; connect to the thread to watch it, or stop it.
    """
    ON_HOLD = (
        "on_hold",
        Facts(
            _PROBLEM,
            409,
            lasting=True,
            chat="This conversation is on hold, so it cannot be deleted.",
        ),
    )
    """A keeper has put this thread on hold: nobody may delete it.

    Ask a keeper to lift the hold ([retention](retention.md#holds)).
    """
    THREAD_TOO_LARGE = (
        "thread_too_large",
        Facts(
            ("problem", "refusal", "ending"),
            413,
            lasting=True,
            fatal=True,
            chat="This conversation is too long. Start a new one.",
        ),
    )
    """The thread would hold more messages than it may, 8 MiB by default.

    Begin a new thread, or raise `Limits(history=…)` ([options](options.md)). What is open can still
    be answered.
    """
    NOT_WAITING = (
        "not_waiting",
        Facts(_PROBLEM, 409, chat="The agent no longer waits here. Send a message to continue."),
    )
    """The thread's turn has ended, so there is nothing to edit or restart.

    Send a message; it begins the next turn.
    """
    JOURNAL_GONE = (
        "journal_gone",
        Facts(_PROBLEM, 410, chat="Only questions of the last turn can be forked."),
    )
    """The turn is not the newest of its thread, and its journal was removed when the next began.

    Fork at a question of the newest turn.
    """
    WRONG_AGENT = (
        "wrong_agent",
        Facts(
            _REFUSAL,
            409,
            lasting=True,
            fatal=True,
            chat="Another agent has unfinished work in this conversation.",
        ),
    )
    """The thread has unfinished work of another agent.

    Send the request to the path of that agent; the message names it.
    """
    NOT_AN_APPROVER = (
        "not_an_approver",
        Facts(
            _REFUSAL,
            403,
            lasting=True,
            chat="Others have to answer this. Leave it to them, or withdraw it.",
        ),
    )
    """The question is answered by people with a certain role, and the caller has none of them.

    Leave it to them (`metadata.sayso.waitsFor` names the roles), or cancel it if the thread is
    yours. Roles come from `Principal(roles=…)` ([policies](policies.md)).
    """
    OWN_REQUEST = (
        "own_request",
        Facts(
            _REFUSAL,
            403,
            lasting=True,
            chat="You asked for this, so another approver has to answer. You can withdraw it.",
        ),
    )
    """The policy says `not_by="requester"`, and the caller asked for it.

    Another approver has to answer, or cancel it ([policies](policies.md)).
    """
    PERSON_REQUIRED = (
        "person_required",
        Facts(
            _REFUSAL,
            403,
            lasting=True,
            chat="A person has to answer this, and you are signed in as a service.",
        ),
    )
    """The caller is a service (`Principal.kind`), and decisions need a person.

    Have a person answer. `Sayso(services_may_decide=True)` lets services decide as well
    ([approvers](approvers.md#services)).
    """
    STEP_UP_REQUIRED = (
        "step_up_required",
        Facts(_REFUSAL, 403, chat="Sign in again to answer this, then send your answer again."),
    )
    """The question takes the answers of those who have signed in a short time ago (`stepUp`, in
    seconds), and the caller's `Principal.auth_time` is older, or not known.

    Sign in again, and send the same answer with the new token
    ([approvers](approvers.md#a-fresh-sign-in)).
    """
    UNKNOWN_PERSON = (
        "unknown_person",
        Facts(
            _REFUSAL,
            422,
            lasting=True,
            chat="Nobody of that name may answer this. Choose somebody else.",
        ),
    )
    """A question is assigned to somebody whom the directory does not know as active, or who may not
    answer it.

    Name another person, or `role:` and a role whose members may answer
    ([approvers](approvers.md#the-directory)).
    """
    DENIED_BEFORE = (
        "denied_before",
        Facts(_REFUSAL, 409, lasting=True, chat="This was denied before{by}. Deny or withdraw it."),
    )
    """An approver has denied this call before, in another copy of the thread or in this turn.

    Deny or cancel it, or send a message that asks for something else ([policies](policies.md)).
    """
    OUT_OF_DATE = (
        "out_of_date",
        Facts(
            _REFUSAL,
            409,
            stale=True,
            chat="This has changed since it was shown to you. Look at it again, then answer.",
        ),
    )
    """The question has changed since the client showed it: an approver has agreed to other
    arguments, or it is asked of others. Nothing was decided.

    Show `interrupts[].interrupt`, which is the question as it is now, and answer that
    ([the audit trail](audit.md#what-was-shown)).
    """
    AGENT_VERSION_MISSING = (
        "agent_version_missing",
        Facts(
            _REFUSAL,
            409,
            chat="This cannot continue here at the moment. Your answer was not used.",
        ),
    )
    """The turn began with a version of its agent that this server does not have.

    Register that version beside the new one; the question stays open ([agents](agents.md)).
    """
    BREAKPOINTS_REFUSED = "breakpoints_refused", Facts(_REFUSAL, 422, lasting=True)
    """The request sets breakpoints, and its agent takes none from requests.

    Leave `forwardedProps.sayso.breakpoints` out, or allow it ([options](options.md)).
    """

    # endings of a run

    AGENT_ERROR = "agent_error", _ENDING
    """The agent function raised; its log has the error.

    Read the server's log. What was recorded stays; `POST /threads/{id}/restart` begins the turn
    again.
    """
    AGENT_RESULT_INVALID = "agent_result_invalid", _ENDING
    """The agent function returned a value that has no JSON form.

    Return JSON: text, numbers, lists, mappings, pydantic models.
    """
    CANCELLED_CALL = "cancelled_call", _ENDING
    """The agent's code cancelled a recorded call, such as by `asyncio.timeout`; the call was
    finished and recorded.

    Use `timeout=` of the tool or step ([agents](agents.md)).
    """
    REPLAY_MISMATCH = "replay_mismatch", _ENDING
    """The agent's code does not fit what the turn has recorded; nothing was executed.

    Deploy code that fits, or stop or restart the turn. The message names the place and both
    versions ([agents](agents.md)).
    """
    TOO_MANY_INTERRUPTS = "too_many_interrupts", _ENDING
    """The turn asks more questions at once than the server allows or the client takes.

    Ask fewer at a time, or raise `Limits(open_interrupts=…)` ([options](options.md)).
    """
    INTERRUPTS_DISABLED = "interrupts_disabled", _ENDING
    """The agent asked a person, which its `interrupts_enabled=False` forbids.

    Allow it, or change the policy that asks ([options](options.md)).
    """
    LEASE_LOST = "lease_lost", _ENDING
    """Another server continues this thread.

    Connect again. If it happens often, a server stands still for longer than its lease, or cannot
    reach the store ([deployment](deployment.md)).
    """
    READER_TOO_SLOW = "reader_too_slow", _ENDING
    """The response was read too slowly and was cut; the run continues.

    Connect again.
    """
    TOKEN_EXPIRED = (
        "token_expired",
        Facts(("ending",), chat="Your sign-in has ended. Sign in to continue."),
    )
    """The sign-in that the stream was opened with has expired or was revoked; the run continues.

    Sign in again and connect.
    """
    SHUTTING_DOWN = "shutting_down", Facts(("problem", "ending"), 503)
    """The server is shutting down; the turn continues on another one or after the restart.

    Connect again.
    """
    ABORT = "abort", _ENDING
    """The run was stopped; told to clients from before protocol 1.0, which know no other word.

    Send a message; it begins the next turn.
    """
