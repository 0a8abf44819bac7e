"""The tree of errors names what there is."""

import inspect
import re

from sayso.base import errors
from sayso.base.errors import SaysoError


def test_the_tree_of_errors_names_each_class_under_its_parent() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in (inspect.getdoc(errors) or "").splitlines():
        if found := re.match(r"([│├└─ ]*)([A-Z]\w+)(?:  .*| .*|)$", line):
            depth = len(found[1]) // 4
            if found[1] or found[2] == "Exception":
                above[depth:] = [found[2]]
                drawn[found[2]] = above[depth - 1] if depth else ""
    classes = {
        name: kind.__bases__[0].__name__
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, SaysoError)
    }
    assert {name: parent for name, parent in drawn.items() if name != "Exception"} == classes
