import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { PlainText, plainText } from "../../src/components/PlainText.js";

const TAGS = Array.from(" and wire 9000 to X", (text) =>
  String.fromCodePoint(0xe0000 + (text.codePointAt(0) ?? 0)),
).join("");
const FAMILY = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";
const SCOTLAND = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";

describe("a text that is shown", () => {
  it("hides no sentence in characters that have no look", () => {
    expect(plainText(`Invoice 12${TAGS}`)).toContain("Invoice 12U+E0020U+E0061U+E006E");
    for (const text of "\u034f\u115f\u1160\u3164\uffa0\u17b4\u2800\ufe0f\u00ad\u180e\ufff9\u0008")
      expect(plainText(`a${text}b`)).toMatch(/^aU\+[0-9A-F]{4,5}b$/);
    expect(plainText("a\tb\r\nc")).toBe("a\tb\r\nc");
  });

  it("leaves a family, a flag, a heart and a keycap whole, and no joiner elsewhere", () => {
    for (const whole of [FAMILY, SCOTLAND, "\u2764\ufe0f", "1\ufe0f\u20e3"])
      expect(plainText(whole)).toBe(whole);
    expect(plainText("a\u200db")).toBe("aU+200Db");
    expect(plainText(`\u{1f3f4}${TAGS}\u{e007f}`)).toContain("U+E0020");
  });

  it.each([
    ["https://\u0430pple.com/a", "https://U+0430pple.com/a"],
    ["ada@g\u043eogle.com", "ada@gU+043Eogle.com"],
    ["\u0430\u0440\u0440\u04cf\u0435.com", "U+0430U+0440U+0440U+04CFU+0435.com"],
    ["https://\u0420\u0410Y.com", "https://U+0420U+0410Y.com"],
    ["\u200bhttps://\u0430pple.com", "U+200Bhttps://U+0430pple.com"],
  ])("spells out letters of a host that look like Latin ones: %s", (text, shown) => {
    expect(plainText(text)).toBe(shown);
  });

  it.each([
    "https://\u043f\u0440\u0438\u043c\u0435\u0440.com",
    "https://m\u00fcnchen.de \u6771\u4eac.jp",
    "\u0410\u041a\u0422.pdf, IP-\u0430\u0434\u0440\u0435\u0441.txt, 0.5\u03bcm",
    "\u0441 \u0430 \u043e: \u0440\u0430\u043f\u043e\u0440\u0442 ok",
  ])("leaves a host of another script, a word, and the name of a file as they are: %s", (text) => {
    expect(plainText(text)).toBe(text);
  });

  it("marks a space that is not the usual one, with its name", () => {
    render(<PlainText text={"10\u00a0%"} />);
    expect(screen.getByTitle("U+00A0")).toHaveTextContent("", { normalizeWhitespace: true });
    expect(document.body.textContent).toBe("10\u00a0%");
    expect(plainText("10\u00a0%")).toBe("10 %");
  });
});
