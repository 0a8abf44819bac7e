"""Who has said yes to a call, and to which arguments: kept in its entry until it has run. Pure.

`asks` are the rules that the open question stands for, `satisfied` those that somebody has said
yes to: `{"rule", "terms", "arguments": digest, "by": [{"by", "roles", "at"}], "approval"?}`. A yes
is to the arguments that were shown: who changes them takes the others' yes away, unless the very
people who agree to the change are whom the other rule asks for as well.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sayso.agents.policy import AskingRule
from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, Approvers, ApproversAsJson
from sayso.base.records import Approval, Interrupt
from sayso.gate.quorum import approving, met_by

Data = dict[str, Any]
_SHORT: Final = 16
"""Digits of a digest as releases before kept it: two calls of one such digest can be found."""


def asked(asks: Iterable[AskingRule]) -> list[Data]:
    """The rules that a yes to a question stands for, as its entry keeps them."""
    return [{"rule": rule.rule, "terms": rule.asking.approvers.terms()} for rule in asks]


def covers(terms: ApproversAsJson, other: ApproversAsJson | None) -> bool:
    """True if who is asked by these terms can speak for others as well: the same, or any owner."""
    return other is None or other == terms or other == OWNER.terms()


def agreed(data: Data, interrupt: Interrupt, arguments: Any) -> None:
    """Note a yes to the open question with these arguments."""
    said = _people(interrupt)
    digest = _digest(arguments)
    asks = _asks(data)
    entries = [{**rule, "arguments": digest, "by": said} for rule in asks]
    data.pop("asks", None)
    data["satisfied"] = [*_given(data), *entries]


def stands_on(data: Data, approval: Approval, asks: Iterable[AskingRule], arguments: Any) -> None:
    """Note a yes that was given to such calls before."""
    said = [{"by": approval.given_by, "roles": [], "at": approval.given_at}]
    digest = _digest(arguments)
    data["satisfied"] = [
        *_given(data),
        *(
            {**rule, "arguments": digest, "by": said, "approval": approval.id}
            for rule in asked(asks)
        ),
    ]


def chosen(data: Data, decision: Interrupt, asks: Iterable[AskingRule], arguments: Any) -> None:
    """Note a yes that was given by the choice of an option which permits the call."""
    said = _people(decision)
    digest = _digest(arguments)
    entries = [{**rule, "arguments": digest, "by": said} for rule in asked(asks)]
    data["satisfied"] = [*_given(data), *entries]
    data |= {"decision": decision.id, "by": decision.decided_by}


def spend(data: Data) -> None:
    """Note that the call does not run on its decision any more, which permits no other either."""
    if "decision" in data:
        data["spent"] = [*data.get("spent", ()), data.pop("decision")]


def standing(
    data: Data, arguments: Any, requesters: Iterable[str]
) -> dict[str, ApproversAsJson | None]:
    """The rules that are satisfied for these arguments, with their terms.

    One that was for others counts if those who have agreed to these are whom it asks for, which
    whoever asks for the thing may not be.
    """
    digest = _digest(arguments)
    consents = _given(data)
    here = [consent for consent in consents if _is_to(consent, arguments)]
    satisfied: dict[str, ApproversAsJson | None] = {
        consent["rule"]: consent["terms"] for consent in here
    }
    people = list({person["by"]: person for entry in here for person in entry["by"]}.values())
    wanting = tuple(requesters)
    for consent in consents:
        terms = consent["terms"]
        if consent["rule"] in satisfied or terms is None or not people:
            continue
        who = [(person["by"], person["roles"]) for person in people]
        if met_by(Approvers.from_terms(terms), who, wanting):
            satisfied[consent["rule"]] = terms
            data["satisfied"].append({**consent, "arguments": digest, "by": people})
    return satisfied


def people(data: Data, arguments: Any) -> list[tuple[str, str, int]]:
    """Who has said yes to these arguments: rule, subject, and when."""
    consents = _given(data) if data.get("satisfied") else ()
    return [
        (consent["rule"], said["by"], said["at"])
        for consent in consents
        if _is_to(consent, arguments)
        for said in consent["by"]
    ]


def terms_of(data: Data, arguments: Any, otherwise: Approvers) -> tuple[Approvers, list[Data]]:
    """Who decides whether a call is made again, and which rules a yes to that stands for.

    The people of the first rule that asked others about it, else of the first one: what became of
    a call that others had to approve is not its owner's to say. `otherwise` are those of the tool.
    """
    here = [
        consent
        for consent in _given(data)
        if consent["terms"] is not None and _is_to(consent, arguments)
    ]
    if not here:
        return otherwise, []
    of_others = (consent["terms"] for consent in here if consent["terms"] != OWNER.terms())
    first = next(of_others, here[0]["terms"])
    who = Approvers.from_terms(first)
    rules = [{"rule": consent["rule"], "terms": consent["terms"]} for consent in here]
    return who, [rule for rule in rules if covers(first, rule["terms"])]


def forgotten(data: Data) -> Data:
    """The data of a call whose question is asked again elsewhere: nobody has said yes to it.

    A yes there is held to the rules as they are then, and all that somebody had said yes to ask
    again, after those that the open question is for.
    """
    consents = _given(data)
    if not consents:
        return {**data, "partly": True}
    left = [consent for consent in data["satisfied"] if consent not in consents]
    kept = {name: value for name, value in data.items() if name not in ("decision", "spent")}
    return {**kept, "satisfied": left, "partly": True}


def renewed(data: Data, interrupt: Interrupt, arguments: Any) -> None:
    """Note who has the call made again; all that was said before was to the attempt before."""
    data["satisfied"] = []
    spend(data)
    agreed(data, interrupt, arguments)
    data["attempt"] = data.get("attempt", 1) + 1
    if interrupt.decided_by is not None:
        data["by"] = interrupt.decided_by


def _people(item: Interrupt) -> list[Data]:
    """Who gave a settled answer: each with its roles, and when."""
    return [{"by": vote.by, "roles": list(vote.roles), "at": vote.at} for vote in approving(item)]


def _given(data: Mapping[str, Any]) -> list[Data]:
    """Each yes so far; a list of names was of rules that a yes would satisfy."""
    return [consent for consent in data.get("satisfied", ()) if isinstance(consent, dict)]


def _asks(data: Mapping[str, Any]) -> list[Data]:
    """The rules that the open question stands for, also as a release before kept them."""
    named = [name for name in data.get("satisfied", ()) if isinstance(name, str)]
    return [*data.get("asks", ()), *({"rule": name, "terms": None} for name in named)]


def _is_to(consent: Data, arguments: Any) -> bool:
    """True if a yes is to these very arguments."""
    recorded = consent["arguments"]
    short = len(recorded) == _SHORT
    return bool(recorded == (jsonvalue.digest(arguments) if short else _digest(arguments)))


def _digest(arguments: Any) -> str:
    """The SHA-256 of arguments: whoever edits them finds no other ones that have the same."""
    return hashlib.sha256(jsonvalue.canonical(arguments)).hexdigest()
