import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asDoubles, spelt, withDigits } from "../../src/core/exact.js";
import { equalJson, parseJson, writeJson } from "../../src/core/json.js";
import { readNumber, troubleIn, troubleOf } from "../../src/core/numbers.js";
import { legacyCommand, readLegacy } from "../../src/core/legacy.js";
import { readInterrupt } from "../../src/core/readInterrupt.js";
import { check } from "../../src/core/index.js";

const BIG = 9007199254740993n;

/** Any JSON whose integers have up to 64 bits, as a reader that keeps digits has it. */
const whole = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
const number = fc.oneof(
  whole.map((item) => (Number.isSafeInteger(Number(item)) ? Number(item) : item)),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((item) => !Number.isInteger(item)),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
  ),
})).value;

describe("numbers that a double does not hold", () => {
  it("are read and written with all their digits", () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = writeJson(value);
        expect(equalJson(parseJson(text), value)).toBe(true);
        expect(writeJson(parseJson(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it("look like numbers in JSON, never like texts, and texts never like numbers", () => {
    expect(writeJson({ a: BIG, b: String(BIG) })).toBe(`{"a":${BIG},"b":"${BIG}"}`);
    expect(parseJson(`{"a":${BIG},"b":"${BIG}","c":[-${BIG},1]}`)).toEqual({
      a: BIG,
      b: String(BIG),
      c: [-BIG, 1],
    });
    expect(parseJson(`"\\"${BIG}"`)).toBe(`"${BIG}`);
    expect(parseJson(`0${BIG}`)).toBeUndefined();
  });

  it("survive a client that rounds, by the digits beside a question and an answer", () => {
    fc.assert(
      fc.property(json, (value) => {
        const said = asDoubles({ status: "resolved", payload: value });
        const sent = JSON.parse(JSON.stringify(said)) as typeof said;
        if (sent.status !== "resolved") throw new Error("a payload is an answer");
        const back = withDigits(sent.payload, sent.metadata?.sayso.exact);
        expect(equalJson(back, value)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("are put into a question that came rounded, and only there", () => {
    const requested = JSON.parse(
      writeJson({
        id: "int_1",
        reason: "tool_call",
        responseSchema: { properties: { account: { default: BIG } } },
        metadata: {
          sayso: {
            arguments: { account: BIG, amount: 10 },
            exact: {
              "/metadata/sayso/arguments/account": String(BIG),
              "/metadata/sayso/arguments/amount": String(BIG),
              "/responseSchema/properties/account/default": String(BIG),
            },
          },
        },
      }),
    ) as unknown;
    const read = readInterrupt(requested);
    expect(read?.metadata).toMatchObject({ sayso: { arguments: { account: BIG, amount: 10 } } });
    expect(read?.responseSchema).toEqual({ properties: { account: { default: BIG } } });
  });

  it("are said twice where all digits are written, so that a neighbour can be meant", () => {
    const payload = { editedArgs: { account: BIG - 1n } };
    expect(spelt({ status: "resolved", payload })).toEqual({
      status: "resolved",
      payload,
      metadata: { sayso: { exact: { "/editedArgs/account": "9007199254740992" } } },
    });
    expect(spelt({ status: "resolved", payload: { a: 1 } })).not.toHaveProperty("metadata");
  });

  it("leave by an older client's command as doubles, which their server refuses in words", () => {
    const command = legacyCommand(readLegacy("which?", "r"), { status: "resolved", payload: BIG });
    expect(JSON.stringify(command)).toContain('"resume":9007199254740992');
  });

  it("are compared by all digits", () => {
    const wrong = (schema: object, value: unknown) =>
      check(schema as Record<string, unknown>, value).problems.map((problem) => problem.message);
    expect(wrong({ const: BIG }, BIG)).toEqual([]);
    expect(wrong({ const: BIG }, BIG - 1n)).toEqual(["Not one of the allowed values."]);
    expect(wrong({ enum: [BIG - 1n, BIG] }, BIG)).toEqual([]);
    expect(wrong({ type: "integer", minimum: BIG }, BIG)).toEqual([]);
    expect(wrong({ minimum: BIG }, BIG - 1n)).toEqual([`Must be at least ${BIG}.`]);
    expect(wrong({ exclusiveMaximum: BIG }, BIG - 1n)).toEqual([]);
    expect(wrong({ maximum: 1e300 }, BIG)).toEqual([]);
    expect(wrong({ minimum: -5 }, -BIG)).toEqual(["Must be at least -5."]);
    expect(wrong({ uniqueItems: true }, [BIG - 1n, BIG])).toEqual([]);
    expect(wrong({ multipleOf: 3 }, BIG)).toEqual([]);
    // What is no multiple after all, the server says.
    expect(wrong({ multipleOf: 7 }, BIG - 1n)).toEqual(["Must be a multiple of 7."]);
    expect(wrong({ type: "string" }, BIG)).toEqual(["Must be text."]);
  });
});

describe("a number as it is typed", () => {
  it.each([
    ["1.10", 1.1],
    ["-0.5e-3", -0.0005],
    ["240", 240],
    ["9007199254740993", BIG],
    ["0.1", 0.1],
    ["1e300", 1e300],
  ])("%s is read", (text, value) => {
    expect(troubleOf(text)).toBeNull();
    expect(readNumber(text)).toBe(value);
  });

  it.each(["", "1,5", ".5", "5.", "+1", "01", "0x10", "1e", "Infinity", "1 000"])(
    "%j is none",
    (text) => {
      expect(troubleOf(text)).toBe("Must be a number.");
    },
  );

  it.each([
    ["0.12345678901234567890", /too many digits/],
    ["9007199254740993.0", /too many digits/],
    ["18446744073709551616", /64 bits/],
    ["1e400", /smaller/],
  ])("%s would not arrive as it is written", (text, why) => {
    expect(troubleOf(text)).toMatch(why);
    expect(troubleIn(`{"a": ["${text}", ${text}]}`)).toMatch(why);
  });

  it("every double is read as it is written", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (item) => {
        // JSON writes large doubles without a point: what is no whole number of 64 bits is refused.
        fc.pre(!Number.isInteger(item) || Math.abs(item) < 2 ** 63);
        expect(troubleOf(JSON.stringify(item))).toBeNull();
        expect(Number(readNumber(JSON.stringify(item)))).toBe(item + 0);
      }),
    );
  });
});
