// node scripts/unseen.mjs: writes the characters that hide in a text or look like others, for the web and for Python,
// from the Unicode that this Node knows. Run it when a new version of Unicode adds some.
import { writeFileSync } from "node:fs";

import { at } from "./checkout.mjs";

const LAST = 0x10ffff;

/**
 * Letters of other scripts, and phonetic ones, that look like one of a to z: from `confusables.txt` of
 * Unicode, of the scripts that names of hosts can have. What hosts are mapped to a to z is no other.
 */
const LOOKALIKES = [
  "ɑɡɣɩɪɯʋʏͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγινορσυϜϳϺЅІЈАВЕКМНОРСТУХЬагеорсухѕі",
  "јѡѴѵҮүһҽӀӏԁԌԛԜԝՍՏՕագզհոռսցքօყჿሀዐᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏳᏴ",
  "ᐯᑌᑭᑯᑲᒍᒪᕁᕼᕽᖇᖯᖴᗅᗞᗪᗰᗷᴄᴏᴑᴜᴠᴡᴢᴦⲅⲎⲒⲔⲘⲚⲞⲟⲢⲣⲤⲥⲦⲨⲬⳐⴸⴹⵏⵔⵕⵝꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟ",
  "ꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴꙇꜱꞘꞙꞟꞲꞳꞴꬲꬵꬽꭇꭈꭎꭒꭚꭵꮁꮃꮓꮩꮪꮯ",
].join("");

/** Ranges of all code points that a pattern matches. */
function rangesOf(pattern) {
  const ranges = [];
  for (let code = 0; code <= LAST; code += 1) {
    if (!pattern.test(String.fromCodePoint(code))) continue;
    const last = ranges.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
}

const TABLES = {
  // What has no look of its own, and the Braille blank, which is drawn as nothing.
  UNSEEN: rangesOf(/(?![\t\n\r])[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800]/u),
  // Spaces that are not the usual one.
  SPACES: rangesOf(/(?! )\p{Zs}/u),
  // What joiners and selectors belong to.
  PICTURES: rangesOf(/\p{Extended_Pictographic}/u),
  LOOKALIKES: rangesOf(new RegExp(`[${LOOKALIKES}]`, "u")),
};

const hex = (code, digits) => code.toString(16).padStart(digits, "0");
const inPython = (code) => (code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`);
const inScript = (code) => `\\u{${hex(code, 1)}}`;

/** The inside of a character class, in lines. */
function classOf(ranges, spell, indent) {
  const parts = ranges.map(([a, b]) => (a === b ? spell(a) : `${spell(a)}-${spell(b)}`));
  const lines = [""];
  for (const part of parts) {
    if (lines.at(-1).length + part.length > 80) lines.push("");
    lines.push(lines.pop() + part);
  }
  return lines.map((line) => indent(line));
}

const note = `Made by scripts/unseen.mjs from Unicode ${process.versions.unicode}`;
const script = Object.entries(TABLES).map(
  ([name, ranges]) =>
    `export const ${name} = [\n${classOf(ranges, inScript, (line) => `  String.raw\`${line}\`,`).join("\n")}\n].join("");\n`,
);
const python = Object.entries(TABLES).map(
  ([name, ranges]) =>
    `${name}: Final = (\n${classOf(ranges, inPython, (line) => `    r"${line}"`).join("\n")}\n)\n`,
);
writeFileSync(
  at("web/react/src/components/unseenTable.ts"),
  `/* ${note}; do not edit. Insides of character classes. */\n\n${script.join("\n")}`,
);
writeFileSync(
  at("server/sayso/base/unseen_table.py"),
  `"""Characters that hide in a text or look like others: insides of character classes.\n\n${note}; do not edit.\n"""\n\nfrom typing import Final\n\n__all__ = ["LOOKALIKES", "PICTURES", "SPACES", "UNSEEN"]\n\n${python.join("\n")}`,
);
