"""Policies and patterns of remembered approvals on random input (design 3, V5)."""

import fnmatch
import re
from typing import Any
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from sayso import approval
from sayso.agents.approval import Policy, ProposedCall
from sayso.agents.remembered import covers_call, errors, parse_request
from sayso.agents.wildcard import matches
from sayso.base import jsonvalue
from sayso.base.clock import MAX_WAIT_S
from sayso.schemas.remember import Remember

TOOLS = ("read", "read_all", "write", "drop")
PATTERNS = ("*", "read*", "read", "*_all", "write", "drop", "nothing")
VERDICTS = ("deny", "ask", "allow")


def raising(n: int) -> bool:
    raise ValueError(n)


PREDICATES: dict[str, Any] = {
    "yes": lambda n: True,
    "no": lambda n: False,
    "even": lambda n: n % 2 == 0,
    "raises": raising,
}
rules = st.tuples(st.sampled_from(PATTERNS), st.none() | st.sampled_from(sorted(PREDICATES)))
lists = st.fixed_dictionaries({verdict: st.lists(rules, max_size=3) for verdict in VERDICTS})
text = st.text(alphabet="ab*/.", max_size=6)
values = st.none() | st.booleans() | st.integers(-2, 2) | text | st.lists(st.integers(0, 1))
arguments = st.dictionaries(st.sampled_from("xyz"), values, max_size=3)


def spoken(verdict: str, rule: tuple[str, str | None], tool: str, n: int) -> str | None:
    """What one rule says, by the book."""
    pattern, predicate = rule
    if not fnmatch.fnmatchcase(tool, pattern):
        return None
    if predicate is None or predicate == "yes":
        return verdict
    if predicate == "raises":
        return "ask"
    return verdict if predicate == "even" and n % 2 == 0 else None


@given(lists, st.sampled_from(VERDICTS), st.sampled_from(TOOLS), st.integers(0, 3))
def test_deny_beats_ask_beats_allow_whatever_the_lists(
    listed: dict[str, list[tuple[str, str | None]]], otherwise: Any, tool: str, n: int
) -> None:
    """The strongest verdict of all rules that speak, else the default; the rule is named."""
    policy = Policy(
        **{
            verdict: [
                pattern if name is None else approval.calls(pattern, PREDICATES[name])
                for pattern, name in entries
            ]
            for verdict, entries in listed.items()
        },
        otherwise=otherwise,
    )
    own = policy.for_tool(tool, frozenset({"n"}))
    decision = own.decide(ProposedCall(tool=tool, arguments={"n": n}))
    said = [spoken(verdict, rule, tool, n) for verdict in VERDICTS for rule in listed[verdict]]
    wanted = next((verdict for verdict in VERDICTS if verdict in said), otherwise)
    assert decision.verdict == wanted
    assert decision.rule
    assert (decision.verdict == "ask") == bool(decision.asks)
    names = [ask.rule for ask in decision.asks]
    assert len(set(names)) == len(names)
    if decision.verdict == "ask":
        assert own.kind != "never"


@given(st.lists(lists, min_size=1, max_size=3), st.sampled_from(TOOLS), st.integers(0, 3))
def test_the_strictest_is_what_any_part_says_at_most(
    several: list[dict[str, list[tuple[str, str | None]]]], tool: str, n: int
) -> None:
    """Neither milder than one of its parts nor stricter than all of them."""
    parts = [
        Policy(
            **{
                verdict: [
                    pattern if name is None else approval.calls(pattern, PREDICATES[name])
                    for pattern, name in entries
                ]
                for verdict, entries in listed.items()
            },
            otherwise="allow",
        )
        for listed in several
    ]
    call = ProposedCall(tool=tool, arguments={"n": n})
    said = [p.for_tool(tool, frozenset({"n"})).decide(call).verdict for p in parts]
    whole = approval.all_of(*parts).for_tool(tool, frozenset({"n"})).decide(call)
    assert whole.verdict == next(verdict for verdict in VERDICTS if verdict in said)


@given(arguments, arguments)
def test_the_same_arguments_are_those_and_no_others(
    given_for: dict[str, Any], others: dict[str, Any]
) -> None:
    """As JSON values: no arguments are not any arguments, and true is not one."""
    kept = parse_request(True, Remember(), given_for, 0)
    assert kept is not None
    assert covers_call(kept.pattern, given_for)
    assert covers_call(kept.pattern, others) == jsonvalue.equal(given_for, others)
    anything = parse_request({"arguments": "any"}, Remember(), given_for, 0)
    assert anything is not None
    assert covers_call(anything.pattern, others)


@given(text, text)
def test_a_star_stays_between_slashes_and_everything_else_stands_for_itself(
    wanted: str, said: str
) -> None:
    """Held against the standard library's patterns, which agree where `*` is the only sign."""
    pattern = {"kind": "like", "arguments": {"x": wanted}}
    parts, found = wanted.split("/"), said.split("/")
    if wanted == "*":
        due = True
    elif "*" not in wanted:
        due = said == wanted
    else:
        firm = len(parts) == len(found) and all(map(fnmatch.fnmatchcase, found, parts))
        due = firm and not {".", ".."} & set(found)
    assert covers_call(pattern, {"x": said}) == due


PIECES = "https:// a evil.com .example.org b.example.org / // ?q= & # @ : :443 \\ .. %2e %2f x *"
hostile = st.lists(
    st.sampled_from([*PIECES.split(), "\n", " ", "\u202e", "\uff0f"]),
    max_size=7,
).map("".join)


@given(st.just("https://b.example.org/x") | hostile | hostile.map("https://a.example.org/".__add__))
def test_a_url_that_is_like_a_pattern_is_at_its_host(url: str) -> None:
    """Whatever another reader makes of it: no other host, no port, no credentials."""
    if matches("https://*.example.org/*", url):
        parts = urlsplit(url)
        assert parts.scheme == "https"
        assert parts.netloc == parts.hostname
        assert re.fullmatch(r"[a-z0-9_-]+\.example\.org", parts.netloc)
        assert parts.path.startswith("/")
        assert not {".", ".."} & set(parts.path.split("/"))
        assert url.isprintable()
    if matches("https://a.example.org/files/*/x", url):
        parts = urlsplit(url)
        assert (parts.netloc, parts.query, parts.fragment) == ("a.example.org", "", "")
        assert re.fullmatch(r"/files/[^/]*/x", parts.path)


@given(arguments.filter(bool), arguments)
def test_a_pattern_that_is_taken_fits_its_call(
    wanted: dict[str, Any], call: dict[str, Any]
) -> None:
    """What the gate lets through stands for the very call that it was given for."""
    said = {"arguments": wanted}
    wrong = errors(said, call, approved=True)
    kept = parse_request(said, Remember(), call, 0)
    assert kept is not None
    assert covers_call(kept.pattern, call) == (not wrong)
    assert errors(said, call, approved=False)


@given(st.floats(0.001, 1e308), st.none() | st.floats(0.001, 1e6), st.integers(0, 10**12))
def test_nobody_remembers_longer_than_the_author_allows(
    seconds: float, most: float | None, now: int
) -> None:
    """The shorter of both."""
    kept = parse_request({"seconds": seconds}, Remember(expires_in=most), {}, now)
    assert kept is not None
    assert kept.expires_at is not None
    assert kept.expires_at <= now + int(min(seconds, MAX_WAIT_S) * 1000)
    if most is not None:
        assert kept.expires_at <= now + int(most * 1000)
