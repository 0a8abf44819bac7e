"""Characters that hide in a text or look like others: insides of character classes.

Made by scripts/unseen.mjs from Unicode 17.0; do not edit.
"""

from typing import Final

UNSEEN: Final = (
    r"\u0000-\u0008\u000b-\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605"
    r"\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

SPACES: Final = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"

PICTURES: Final = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b"
    r"\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa-\u25ab\u25b6\u25c0"
    r"\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614-\u2615\u2618\u261d\u2620"
    r"\u2622-\u2623\u2626\u262a\u262e-\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653"
    r"\u265f-\u2660\u2663\u2665-\u2666\u2668\u267b\u267e-\u267f\u2692-\u2697\u2699"
    r"\u269b-\u269c\u26a0-\u26a1\u26a7\u26aa-\u26ab\u26b0-\u26b1\u26bd-\u26be"
    r"\u26c4-\u26c5\u26c8\u26ce-\u26cf\u26d1\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5"
    r"\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721"
    r"\u2728\u2733-\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2764"
    r"\u2795-\u2797\u27a1\u27b0\u27bf\u2934-\u2935\u2b05-\u2b07\u2b1b-\u2b1c\u2b50"
    r"\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f02c-\U0001f02f"
    r"\U0001f094-\U0001f09f\U0001f0af-\U0001f0b0\U0001f0c0\U0001f0cf-\U0001f0d0"
    r"\U0001f0f6-\U0001f0ff\U0001f170-\U0001f171\U0001f17e-\U0001f17f\U0001f18e"
    r"\U0001f191-\U0001f19a\U0001f1ae-\U0001f1e5\U0001f201-\U0001f20f\U0001f21a"
    r"\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f249-\U0001f25f"
    r"\U0001f266-\U0001f321\U0001f324-\U0001f393\U0001f396-\U0001f397"
    r"\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5"
    r"\U0001f3f7-\U0001f3fa\U0001f400-\U0001f4fd\U0001f4ff-\U0001f53d"
    r"\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f-\U0001f570"
    r"\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590"
    r"\U0001f595-\U0001f596\U0001f5a4-\U0001f5a5\U0001f5a8\U0001f5b1-\U0001f5b2"
    r"\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de"
    r"\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa-\U0001f64f"
    r"\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6e5\U0001f6e9"
    r"\U0001f6eb-\U0001f6f0\U0001f6f3-\U0001f6ff\U0001f7da-\U0001f7ff"
    r"\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f"
    r"\U0001f888-\U0001f88f\U0001f8ae-\U0001f8af\U0001f8bc-\U0001f8bf"
    r"\U0001f8c2-\U0001f8cf\U0001f8d9-\U0001f8ff\U0001f90c-\U0001f93a"
    r"\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa58-\U0001fa5f"
    r"\U0001fa6e-\U0001faff\U0001fc00-\U0001fffd"
)

LOOKALIKES: Final = (
    r"\u0251\u0261\u0263\u0269-\u026a\u026f\u028b\u028f\u037f\u0391-\u0392"
    r"\u0395-\u0397\u0399-\u039a\u039c-\u039d\u039f\u03a1\u03a4-\u03a5\u03a7\u03b1"
    r"\u03b3\u03b9\u03bd\u03bf\u03c1\u03c3\u03c5\u03dc\u03f3\u03fa\u0405-\u0406\u0408"
    r"\u0410\u0412\u0415\u041a\u041c-\u041e\u0420-\u0423\u0425\u042c\u0430\u0433\u0435"
    r"\u043e\u0440-\u0441\u0443\u0445\u0455-\u0456\u0458\u0461\u0474-\u0475"
    r"\u04ae-\u04af\u04bb\u04bd\u04c0\u04cf\u0501\u050c\u051b-\u051d\u054d\u054f\u0555"
    r"\u0561\u0563\u0566\u0570\u0578\u057c-\u057d\u0581\u0584-\u0585\u10e7\u10ff\u1200"
    r"\u12d0\u13a0-\u13a2\u13a5\u13a9-\u13ac\u13b3\u13b7\u13bb\u13bd\u13c0"
    r"\u13c2-\u13c3\u13cf\u13d2\u13d4-\u13d5\u13d9-\u13da\u13de-\u13df\u13e2"
    r"\u13e6-\u13e7\u13f3-\u13f4\u142f\u144c\u146d\u146f\u1472\u148d\u14aa\u1541"
    r"\u157c-\u157d\u1587\u15af\u15b4\u15c5\u15de\u15ea\u15f0\u15f7\u1d04\u1d0f\u1d11"
    r"\u1d1c\u1d20-\u1d22\u1d26\u2c85\u2c8e\u2c92\u2c94\u2c98\u2c9a\u2c9e-\u2c9f"
    r"\u2ca2-\u2ca6\u2ca8\u2cac\u2cd0\u2d38-\u2d39\u2d4f\u2d54-\u2d55\u2d5d"
    r"\ua4d0-\ua4d4\ua4d6-\ua4d7\ua4d9-\ua4da\ua4dc-\ua4dd\ua4df-\ua4e3\ua4e6-\ua4e7"
    r"\ua4ea-\ua4ec\ua4ee\ua4f0\ua4f2-\ua4f4\ua647\ua731\ua798-\ua799\ua79f"
    r"\ua7b2-\ua7b4\uab32\uab35\uab3d\uab47-\uab48\uab4e\uab52\uab5a\uab75\uab81\uab83"
    r"\uab93\uaba9-\uabaa\uabaf"
)
