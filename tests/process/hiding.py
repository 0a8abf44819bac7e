"""Ask for a secret, and tell how long it was."""

import sys

from sayso.cli.chat.questions import ask_person
from sayso.cli.chat.terminal import Terminal

if __name__ == "__main__":
    schema = {
        "type": "object",
        "properties": {"pin": {"type": "string", "writeOnly": True, "default": "0000"}},
        "required": ["pin"],
    }
    asked = {"id": "i", "reason": "x:y", "responseSchema": schema}
    answer = ask_person(asked, None, Terminal(), lambda: 0)
    sys.stdout.write(f"{len(answer['pin'])} characters\n")
