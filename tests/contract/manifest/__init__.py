"""The requirement manifest, one module per section of the rules."""

from tests.contract.manifest import (
    boundary,
    capabilities,
    client,
    compatibility,
    encoding,
    errors,
    expiry,
    gated,
    idempotency,
    interrupts,
    legacy,
    lifecycle,
    outcomes,
    passthrough,
    reasoning,
    resume,
    security,
    snapshots,
    state,
    steps,
    subagents,
    text,
    tools,
    traps,
    usage,
    versions,
)
from tests.contract.verdicts import Requirement

SECTIONS = (
    lifecycle,
    text,
    tools,
    reasoning,
    steps,
    state,
    snapshots,
    passthrough,
    outcomes,
    interrupts,
    resume,
    boundary,
    gated,
    errors,
    expiry,
    idempotency,
    legacy,
    versions,
    capabilities,
    encoding,
    compatibility,
    subagents,
    usage,
    security,
    client,
    traps,
)

RULES: dict[str, Requirement] = {
    rule: requirement for section in SECTIONS for rule, requirement in section.RULES.items()
}
