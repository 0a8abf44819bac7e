"""How PostgreSQL finds what a statement asks for: along indexes, however much is stored.

The tables hold thousands of rows and are analysed, so the plans are those of a database in use.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from sayso.stores.postgres.workers import SQL
from tests.stores.servers import database_to_alter

ROWS = 4_000
FILL = f"""
INSERT INTO thread (scope, id, owner, agent, revision, fence, created_at, updated_at, active_at,
    holder, lease_until, turn, run, expires_at, remind_at, ready_at)
SELECT 'scope ' || n % 5, 't-' || n, 'owner ' || n % 40, 'agent', 2, 1, n, n, n,
    CASE WHEN n % 10 = 0 THEN 'me' END, CASE WHEN n % 10 = 0 THEN 1000000 + n END,
    'turn-' || n, 'run-' || n,
    CASE WHEN n % 3 = 0 THEN 2000000 + n END, CASE WHEN n % 3 = 0 THEN 1500000 + n END,
    CASE WHEN n % 100 = 1 THEN n END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO state (thread, body) SELECT key, 'state' FROM thread;
INSERT INTO kept (thread, body) SELECT key, 'kept' FROM thread;
INSERT INTO turn (thread, key, agent, version, status, subject, subject_scope, subject_roles,
    started_at)
SELECT key, turn, agent, '1', 'suspended', owner, scope, '[]', created_at FROM thread;
INSERT INTO request (thread, turn_key, body) SELECT key, turn, 'request' FROM thread;
INSERT INTO run (thread, key, run_id, turn_key, started_at, delivered)
SELECT key, run, 'r', turn, created_at, true FROM thread;
INSERT INTO message (thread, id, role, body, visibility)
SELECT key, 'm-' || n, 'user', 'text', 'visible' FROM thread, generate_series(1, 3) AS n;
INSERT INTO interrupt (scope, owner, agent, thread, id, turn_key, created_at, status, reason, place,
    assigned_to)
SELECT scope, owner, agent, key, 'int-' || n || '-' || key, turn, key,
    CASE WHEN (key + n) % 2 = 0 THEN 'open' ELSE 'resolved' END, 'confirmation', '0',
    CASE WHEN n = 1 THEN 'clerk ' || key % 7 END
FROM thread, generate_series(1, 2) AS n;
INSERT INTO asked (scope, name, settled, created_at, position)
SELECT scope, 'role:' || position % 9, CASE WHEN status = 'open' THEN 0 ELSE 1 END, created_at,
    position FROM interrupt;
INSERT INTO entry (thread, turn_key, place, kind, name, fingerprint, status, data)
SELECT key, turn, n::text, 'step', 'work', 'f', 'done', 'data'
FROM thread, generate_series(1, 3) AS n;
INSERT INTO change (scope, mark, kind, thread_id, owner, at)
SELECT 'scope ' || n % 5, n, 'settled', 't-' || n, 'owner', n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO approval (scope, id, owner, tool, thread_id, pattern, rules, given_by, given_at,
    interrupt_id)
SELECT scope, 'apr-' || key, owner, 'tool ' || key % 20, CASE WHEN key % 2 = 0 THEN id END,
    'p', 'r', 'me', key, 'int' FROM thread;
INSERT INTO approval_use (scope, approval_id, call_id, thread_id, at)
SELECT scope, 'apr-' || key, 'call', id, key FROM thread;
INSERT INTO audit (scope, thread_id, owner, number, at, kind, content_digest, digest)
SELECT scope, id, owner, n, n, 'asked', 'd', 'd' FROM thread, generate_series(1, 3) AS n;
INSERT INTO person (scope, id, name, salt)
SELECT scope, 'p_' || key, 'person ' || key, 'salt' FROM thread;
INSERT INTO service_token (digest, scope, id, body)
SELECT 'd-' || n, 'scope ' || n % 2000, 'svc-' || n, 'body' FROM generate_series(1, {ROWS}) AS n;
INSERT INTO secret (scope, thread_id, id, body)
SELECT scope, id, 's-' || n, 'body' FROM thread, generate_series(1, 2) AS n;
INSERT INTO session (digest, of_person, of_subject, of_issuer, ends_at, body)
SELECT 'd-' || n, 'p-' || n, 's-' || n, CASE WHEN n % 2 = 0 THEN 'i-' || n END, n, 'body'
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO mark (scope, newest) SELECT 'scope ' || n, {ROWS} FROM generate_series(1, 2000) AS n;
INSERT INTO floor (scope, revision, fence)
SELECT 'scope ' || n, 1, 1 FROM generate_series(1, 2000) AS n;
ANALYZE;
"""  # noqa: S608 - of constants

Plan = dict[str, Any]
Database = psycopg.Connection[tuple[Any, ...]]

SORTING = {"walk_of_thread", "walk_runs"}
"""Walks over what one thread has, which is not much."""
SHORT = {"pg_database"}
"""Tables that hold nothing of ours, and little."""


@pytest.fixture(scope="module")
def filled() -> Iterator[Database]:
    """A database in which much is stored."""
    url = database_to_alter()
    with psycopg.connect(url, autocommit=True, options="-c search_path=sayso") as db:
        db.execute(FILL.encode())
        yield db


def nodes(plan: Plan) -> Iterator[Plan]:
    """All nodes of a plan, from above."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def planned(db: Database, name: str) -> list[Plan]:
    """The nodes of the plan of a statement, whatever its values are."""
    raw = psycopg.RawCursor(db)
    found = raw.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {SQL[name].text}".encode()).fetchone()
    assert found is not None
    plan = found[0] if isinstance(found[0], list) else json.loads(found[0])
    return list(nodes(plan[0]["Plan"]))


@pytest.mark.parametrize("name", sorted(set(SQL) - {"open_audit", "close_audit"}))
def test_no_statement_walks_through_a_whole_table(name: str, filled: Database) -> None:
    """Costs grow with what a turn has recorded, not with what the store holds (design 3, 6)."""
    plan = planned(filled, name)
    walked = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    assert walked <= SHORT


@pytest.mark.parametrize("name", [name for name in SQL if name.startswith("walk_")])
def test_no_walk_sorts_what_it_meets(name: str, filled: Database) -> None:
    """A page comes out of its index in order; only what one thread has is sorted (design 6)."""
    sorts = [node for node in planned(filled, name) if "Sort" in node["Node Type"]]
    assert bool(sorts) <= (name in SORTING), sorts


def test_who_is_due_is_found_along_an_index_for_each_reason(filled: Database) -> None:
    """Each is entered behind the page before, and left once it has given as much as a page."""
    plan = planned(filled, "due_threads")
    assert {node["Index Name"] for node in plan if "Index Name" in node} == {
        *("thread_held", "thread_waking", "thread_ready")
    }
    bounds = [node["Plans"][0] for node in plan if node["Node Type"] == "Limit"]
    assert [node["Node Type"] for node in bounds].count("Index Scan") == 3
