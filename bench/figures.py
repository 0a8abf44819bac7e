"""The table of `compare.py`: our figures beside the floor's, the targets and the peers'."""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

__all__ = ["report"]

Figures = dict[tuple[str, str, str], dict[str, float]]
"""The medians of all rounds, by load, contender and point."""


@dataclass(frozen=True)
class Row:
    """One line: `measure` of a point, in multiples of the floor's unless `absolute`."""

    title: str
    load: str
    point: str
    measure: str
    store: str = "memory"
    at_most: float | None = None
    at_least: float | None = None
    floor: str = "floor"
    absolute: bool = False
    floor_point: str | None = None
    peers: str | None = None


CPU = "cpu_ms_per_trip"
DELTAS = "cpu_s_per_1k_deltas"
ROWS = (
    Row("W1 CPU, c1", "W1", "c1", DELTAS, at_most=0.25, peers="W1 c1"),
    Row("W1 CPU, c32", "W1", "c32", DELTAS, at_most=0.25, peers="W1 c32"),
    Row("W1 rate, c1", "W1", "c1", "deltas_per_s", at_least=3),
    Row("W1 rate, c32", "W1", "c32", "deltas_per_s", at_least=3),
    Row(
        "W1 first event of floor-encode's, c1",
        "W1",
        "c1",
        "ttfe_ms_p50",
        at_most=1,
        floor="floor-encode",
    ),
    Row("W1p CPU, c1", "W1p", "c1", DELTAS, at_most=1.3, floor="floor-paced"),
    Row("W1p CPU, c32", "W1p", "c32", DELTAS, at_most=1.3, floor="floor-paced"),
    Row("W2 CPU, c32", "W2", "c32", CPU, at_most=1.5, peers="W2 c32"),
    Row("W2 CPU, c32", "W2", "c32", CPU, "sqlite", at_most=2.2, peers="W2 c32 sqlite"),
    Row("W2 CPU, c32, of floor:sqlite-full", "W2", "c32", CPU, "sqlite", floor="floor:sqlite-full"),
    *(
        Row("W2 CPU, c32", "W2", "c32", CPU, store, at_most=1.5, floor="floor-pg:postgres")
        for store in ("postgres", "redis")
    ),
    Row(
        "W2 CPU, c32, two replicas, of one",
        "W2r",
        "r2",
        CPU,
        "postgres",
        at_most=1.15,
        floor="sayso:postgres",
        floor_point="r1",
    ),
    Row("W2 CPU, c1", "W2", "c1", CPU),
    Row("W2 CPU, c1", "W2", "c1", CPU, "sqlite"),
    Row("W3 CPU, 1 interrupt", "W3", "k1", CPU),
    Row("W3 CPU, 100 interrupts", "W3", "k100", CPU, at_most=2, peers="W3 k100"),
    Row("W3 CPU, 100 interrupts", "W3", "k100", CPU, "sqlite", at_most=3),
    Row(
        "W4 kB per thread, 10,000 open",
        "W4",
        "10000",
        "kb_per_pending",
        "sqlite",
        at_most=1,
        absolute=True,
        peers="W4 10000 sqlite",
    ),
    *(
        Row(
            "W6 MB that 20,000 turns leave",
            "W6",
            "c32",
            "rss_grown_mb",
            store,
            at_most=2,
            absolute=True,
        )
        for store in ("sqlite", "postgres", "redis")
    ),
    Row("W5 CPU, 1,000 earlier messages", "W5", "h1000", CPU, at_most=2, peers="W5 h1000"),
    Row(
        "W5 CPU, 1,000 earlier messages",
        "W5",
        "h1000",
        CPU,
        "sqlite",
        at_most=4,
        peers="W5 h1000 sqlite",
    ),
    Row("W5s CPU, 1,000 steps", "W5s", "s1000", CPU, peers="W5s s1000"),
    Row("W5s CPU, 1,000 steps", "W5s", "s1000", CPU, "sqlite"),
    *(
        Row(
            f"W5s resume after {steps:,} steps, ms of CPU",
            "W5s",
            f"s{steps}",
            "res_cpu_ms",
            store,
            at_most=15 if steps == 1_000 else None,
            absolute=True,
            peers="W5s resume" if steps == 1_000 and store == "memory" else None,
        )
        for store in ("memory", "sqlite")
        for steps in (0, 100, 1_000)
    ),
    *(
        Row("a recorded step, 32 turns, ms of CPU", "W5s", "step", CPU, store, most, absolute=True)
        for store, most in (("memory", None), ("sqlite", 0.2))
    ),
)


def report(files: Iterable[Path]) -> None:
    """Print all rows that were measured, then what failed."""
    lines = [orjson.loads(line) for file in files for line in file.read_text().splitlines()]
    found = _figures(lines)
    known = orjson.loads((Path(__file__).parent / "peers.json").read_text())
    head = ["what", "store", "floor", "sayso", "of floor", "target", "met", *known["columns"]]
    rows = [head, ["---"] * len(head)]
    for row in ROWS:
        ours = found.get((row.load, f"sayso:{row.store}", row.point), {}).get(row.measure)
        name, _, profile = row.floor.partition(":")
        base = (row.load, f"{name}:{profile or 'memory'}", row.floor_point or row.point)
        floor = found.get(base, {}).get(row.measure)
        if ours is None:
            continue
        value = ours if row.absolute else ours / floor if floor else None
        peers = known["rows"].get(row.peers, [None] * len(known["columns"]))
        rows.append(
            [
                row.title,
                row.store,
                _number(floor),
                _number(ours),
                "-" if row.absolute else _number(value),
                _target(row),
                _met(row, value),
                *map(_number, peers),
            ]
        )
    for cells in rows:
        sys.stdout.write("| " + " | ".join(cells) + " |\n")
    for line in lines:
        if "error" in line or any(point.get("errors") for point in line.get("points", ())):
            what = line.get("error") or "some trips failed"
            sys.stdout.write(f"{line['workload']} {line['contender']}: {what[:400]}\n")


def _figures(lines: Iterable[dict[str, Any]]) -> Figures:
    rounds: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in lines:
        who = f"{line['contender']}:{line['profile']}"
        for point in line.get("points", ()):
            for name, measures in _named(line["workload"], point):
                for measure, value in measures.items():
                    if isinstance(value, int | float):
                        rounds[line["workload"], who, name][measure].append(value)
    found = {
        key: {measure: statistics.median(values) for measure, values in measures.items()}
        for key, measures in rounds.items()
    }
    for (load, who, name), measures in list(found.items()):
        if load == "W5s" and name == "c32 s100":
            none = found[load, who, "c32 s0"]
            found[load, who, "step"] = {CPU: (measures[CPU] - none[CPU]) / 100}
    return found


def _named(load: str, point: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if load == "W4":
        return [(str(one["pending"]), one) for one in point["points"]]
    at = f"c{point['conc']}"
    if load == "W5s":
        steps = f"s{point['steps']}"
        return [(steps if point["conc"] == 1 else f"{at} {steps}", point)]
    names = {
        "W2r": f"r{point.get('replicas')}",
        "W3": f"k{point.get('k')}",
        "W5": f"h{point.get('hist')}",
    }
    return [(names.get(load, at), point)]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _target(row: Row) -> str:
    if row.at_most is not None:
        return f"at most {row.at_most:g}"
    return "-" if row.at_least is None else f"at least {row.at_least:g}"


def _met(row: Row, value: float | None) -> str:
    if value is None or (row.at_most is None and row.at_least is None):
        return "-"
    met = value <= row.at_most if row.at_most is not None else value >= (row.at_least or 0)
    return "yes" if met else "no"
