"""Characters that hide in a text: spelt out alike in the web, in terminals and in messages."""

import re
import unicodedata

from sayso.agents.briefing import display
from sayso.base.printable import escaped
from sayso.base.unseen_table import LOOKALIKES, PICTURES, SPACES, UNSEEN
from sayso.cli.output import plain
from tests.sources import ROOT

TAGS = "".join(chr(0xE0000 + ord(one)) for one in " and wire 9000 to X")
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
PAYPAL = "https://\u0440\u0430\u0443\u0440\u0430l.com"
DISGUISED = {
    "https://\u0430pple.com/a": r"https://\u0430pple.com/a",
    "ada@g\u043eogle.com": r"ada@g\u043eogle.com",
    "\u0430\u0440\u0440\u04cf\u0435.com": r"\u0430\u0440\u0440\u04cf\u0435.com",
    "www.\u0430pple.com:8000": r"www.\u0430pple.com:8000",
    "https://\u0420\u0410Y.com": r"https://\u0420\u0410Y.com",
    "https://user@\u0430pple.com": r"https://user@\u0430pple.com",
}
GENUINE = (
    "https://\u043f\u0440\u0438\u043c\u0435\u0440.com",
    "https://\u043f\u0440\u0435\u0437\u0438\u0434\u0435\u043d\u0442.\u0440\u0444",
    "https://m\u00fcnchen.de \u6771\u4eac.jp",
    "\u0410\u041a\u0422.pdf, IP-\u0430\u0434\u0440\u0435\u0441.txt, 0.5\u03bcm",
    "\u0441 \u0430 \u043e: \u0440\u0430\u043f\u043e\u0440\u0442 ok",
)
EVERY = [chr(code) for code in range(0x110000)]


def test_the_web_and_python_have_one_table() -> None:
    source = (ROOT / "web/react/src/components/unseenTable.ts").read_text("utf-8")
    tables = {"UNSEEN": UNSEEN, "SPACES": SPACES, "PICTURES": PICTURES, "LOOKALIKES": LOOKALIKES}
    for name, ours in tables.items():
        (lines,) = re.findall(rf"export const {name} = \[(.*?)\]", source, re.DOTALL)
        theirs = "".join(re.findall(r"String\.raw`(.*?)`", lines))
        spelt = re.sub(r"\\u\{(\w+)\}", lambda one: rf"\U{int(one[1], 16):08x}", theirs)
        web, python = re.compile(f"[{spelt}]"), re.compile(f"[{ours}]")
        assert [one for one in EVERY if bool(web.match(one)) != bool(python.match(one))] == []


def test_every_format_and_control_character_is_spelt_out_but_tabs_and_line_ends() -> None:
    hidden = [one for one in EVERY if unicodedata.category(one) in ("Cf", "Cc", "Zl", "Zp")]
    named = "\u034f\u115f\u1160\u3164\uffa0\u17b4\u2800\ufe00\U000e0100\u00ad\u180e\U0001d173"
    for one in [*hidden, *named]:
        assert (escaped(one) == one) == (one in "\t\n\r"), f"U+{ord(one):04X}"
        assert one not in plain(f"a{one}b"), f"U+{ord(one):04X}"


def test_a_picture_of_several_characters_is_left_whole_and_nothing_else_with_its_joiners() -> None:
    for whole in (FAMILY, SCOTLAND, "\u2764\ufe0f", "1\ufe0f\u20e3"):
        assert escaped(whole) == whole
        assert plain(whole) == whole
    assert escaped("a\u200db") == r"a\u200db"
    assert escaped("a\ufe0f") == r"a\ufe0f"
    assert escaped(f"{FAMILY}\u200d!") == rf"{FAMILY}\u200d!"
    flagged = "\U0001f3f4" + TAGS + "\U000e007f"
    assert "\U000e0020" not in escaped(flagged)
    assert "\U000e0061" not in plain(flagged)


def test_letters_of_a_host_that_look_like_latin_ones_are_spelt_out() -> None:
    for host, shown in DISGUISED.items():
        assert plain(f"see {host} now") == f"see {shown} now"
    assert r'"https://\u0440\u0430\u0443\u0440\u0430l.com"' in display("open", {"url": PAYPAL})


def test_a_host_of_another_script_a_word_and_the_name_of_a_file_stay_as_they_are() -> None:
    for text in GENUINE:
        assert plain(text) == text


def test_a_sentence_that_nobody_sees_stands_in_the_message_of_its_question() -> None:
    shown = display("pay", {"note": f"Invoice 12{TAGS}", "to\u200b": 1})
    assert shown.startswith(r'pay(note="Invoice 12\udb40\udc20\udb40\udc61')
    assert shown.endswith(r'", to\u200b=1)')
