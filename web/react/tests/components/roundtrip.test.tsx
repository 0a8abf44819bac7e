import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { SchemaForm } from "../../src/components/index.js";

beforeAll(async () => {
  await import("../../src/components/form/RjsfForm.js");
});

/** One of each way in which a text is edited. */
const FIELDS = {
  text: { type: "string" },
  line: { type: "string", maxLength: 100 },
  code: { type: "string", contentMediaType: "text/x-python" },
  secret: { type: "string", format: "password" },
  orNone: { anyOf: [{ type: "string" }, { type: "null" }] },
  either: { anyOf: [{ type: "integer" }, { type: "string" }] },
  anything: {},
  list: { type: "array", items: { type: "string" } },
};
const SCHEMA = { type: "object", properties: FIELDS, required: Object.keys(FIELDS) };

/** What browsers, forms and people lose: ends of lines, blanks, controls, what hides, halves, pairs. */
const CHARACTERS = [
  ...Array.from("\n\r\t \u0000\u0008\u000b\u000c\u001b\u007f\u0085\u00a0\u00ad\u034f\u061c\u115f"),
  ...Array.from("\u17b4\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2066\u2800\u3000\u3164\ufe0f"),
  ...Array.from("\ufeff\uffa0\ufdd0\uffff\ufffd\"'\\<&{[0-e.é\u0301𝒳👩\u{e0041}\u{e01ef}"),
  ...["\r\n", "\ud83d", "true"],
];
const text = fc
  .array(fc.constantFrom(...CHARACTERS), { minLength: 1, maxLength: 12 })
  .map((some) => some.join(""));

describe("a field", () => {
  it("hands back every character that it was given, untouched, or touched and put back", async () => {
    const arbitrary = fc.record({
      text,
      line: text,
      code: text,
      secret: text,
      orNone: text,
      either: text,
      anything: text,
      list: fc.array(text, { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.boolean(), async (value, touched) => {
        cleanup();
        const onSubmit = vi.fn();
        const { container } = render(
          <SchemaForm label="As JSON" schema={SCHEMA} value={value} onSubmit={onSubmit}>
            <button type="submit">Send</button>
          </SchemaForm>,
        );
        await screen.findByRole("button", { name: "Send" });
        const fields = container.querySelectorAll<HTMLInputElement>("input, textarea");
        expect(fields.length).toBeGreaterThanOrEqual(8);
        for (const field of touched ? fields : []) {
          const before = field.value;
          fireEvent.change(field, { target: { value: `${before}1` } });
          fireEvent.change(field, { target: { value: before } });
          expect(field.value).toBe(before);
        }
        fireEvent.click(screen.getByRole("button", { name: "Send" }));
        expect(onSubmit.mock.calls).toEqual([[value]]);
      }),
      { numRuns: 15, endOnFailure: true },
    );
  }, 240_000);
});
