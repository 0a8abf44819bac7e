"""Requirements: version negotiation."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "VN-01": Requirement(
        "spec basic/versioning",
        "Every RUN_STARTED declares our own protocol version.",
        TESTED,
    ),
    "VN-02": Requirement(
        "spec basic/versioning",
        "Our client declares the version it speaks.",
        TESTED,
    ),
    "VN-03": Requirement(
        "spec basic/versioning",
        "Versions compare number by number; odd ones count as newer.",
        TESTED,
    ),
    "VN-04": Requirement(
        "spec basic/versioning",
        "A newer minor version is served.",
        TESTED,
    ),
    "VN-05": Requirement(
        "spec basic/versioning",
        "Only another major version may be refused, before the run.",
        TESTED,
    ),
    "VN-06": Requirement(
        "spec basic/versioning",
        "A peer that declares nothing is served.",
        TESTED,
    ),
    "VN-07": Requirement(
        "spec basic/versioning",
        "A downgrade changes shapes only, never outcome, ids or order.",
        TESTED,
    ),
    "VN-08": Requirement(
        "spec basic/versioning",
        "A newer producer is warned about and read.",
        TESTED,
    ),
    "VN-09": Requirement(
        "spec basic/versioning",
        "The version does not change within a live stream.",
        TESTED,
    ),
    "VN-10": Requirement(
        "spec basic/versioning",
        "Nothing essential rides only on an addition.",
        TESTED,
    ),
}
