"""What deciding about a tool call costs, in microseconds: `python bench/policies.py`.

Each line is one policy on one call, as the engine asks it: the arguments as the tool gets them, the
rules of the policy, the verdict. The target is under 20 microseconds of processor time, the median
of five rounds. `decide` is the policy alone.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

from sayso import Principal, Tool, approval
from sayso.agents.remembered import covers_call

TARGET = 20.0
"""Microseconds."""
ROUNDS = 5


def pay(amount: float, to: str = "ann", note: str | None = None) -> str:
    """A tool of three arguments."""
    return f"{amount} to {to}: {note}"


def policies() -> dict[str, approval.Policy]:
    """The policies by what they are."""
    lists = [f"tool_{number}_*" for number in range(200)]
    return {
        "never": approval.never,
        "always": approval.always,
        "when(amount > 100)": approval.when(lambda amount: amount > 100),
        "by_effect()": approval.by_effect(),
        "strictest of five rules": approval.all_of(*(_over(100 * n) for n in range(1, 6))),
        "lists of 600 patterns": approval.Policy(
            deny=lists, ask=[*lists, approval.calls("p*", lambda amount: amount > 100)], allow=["*"]
        ),
    }


def _over(limit: float) -> approval.Policy:
    return approval.when(lambda amount: amount > limit, name=f"over {limit}")


def microseconds(work: Callable[[], object], calls: int) -> float:
    """The median of a few rounds."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.thread_time()
        for _ in range(calls):
            work()
        rounds.append((time.thread_time() - begun) / calls * 1e6)
    return statistics.median(rounds)


def say(line: str) -> None:
    """Write a line of the table."""
    sys.stdout.write(line + "\n")


def main() -> int:
    """Print the table; the exit code says whether everything was under the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    calls = parser.parse_args().calls
    worst = 0.0
    say(f"{'policy':<28} {'decide':>9} {'with arguments':>15}   µs a call")
    for name, policy in policies().items():
        tool = Tool(pay, approval=policy, effect="irreversible", scale="amount")
        arguments = tool.arguments({"amount": 240.0})
        call = tool.proposed(arguments, Principal(), "thread")

        def decided(tool: Tool = tool, call: approval.ProposedCall = call) -> object:
            return tool.approval.decide(call)

        def whole(tool: Tool = tool, arguments: bytes = arguments) -> object:
            return tool.approval.decide(tool.proposed(arguments, Principal(), "thread"))

        alone, all_of_it = microseconds(decided, calls), microseconds(whole, calls)
        worst = max(worst, all_of_it)
        say(f"{name:<28} {alone:>9.2f} {all_of_it:>15.2f}")
    pattern = {"kind": "like", "arguments": {"to": "a*n", "amount": 240.0}}
    given = {"amount": 240.0, "to": "ann", "note": None}
    like = microseconds(lambda: covers_call(pattern, given), calls)
    say(f"{'a remembered pattern':<28} {like:>9.2f}")
    worst = max(worst, like)
    say(f"worst: {worst:.2f} µs, target: under {TARGET:g} µs")
    return 0 if worst < TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
