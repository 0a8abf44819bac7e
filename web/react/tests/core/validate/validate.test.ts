import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../../src/index.js";
import { check, validateAnswer } from "../../../src/core/index.js";

const schema = {
  type: "object",
  properties: {
    year: { type: "integer", minimum: 2000 },
    quarter: { enum: ["Q1", "Q2"] },
    mail: { type: "string", format: "email" },
    tags: { type: "array", items: { type: "string", minLength: 2 } },
    ref: { $ref: "#/$defs/small" },
  },
  required: ["year"],
  additionalProperties: false,
  $defs: { small: { type: "number", maximum: 5 } },
};

describe("checking a value", () => {
  it.each([
    [{}, "/year", "Required."],
    [{ year: 1999 }, "/year", "Must be at least 2000."],
    [{ year: 2000.5 }, "/year", "Must be a whole number."],
    [{ year: "2000" }, "/year", "Must be a whole number."],
    [{ year: 2000, quarter: "Q9" }, "/quarter", "Not one of the allowed values."],
    [{ year: 2000, mail: "x" }, "/mail", "Must be a valid email."],
    [{ year: 2000, tags: ["ab", "a"] }, "/tags/1", "Must have at least 2 characters."],
    [{ year: 2000, ref: 9 }, "/ref", "Must be at most 5."],
    [{ year: 2000, "a/b": 1 }, "/a~1b", "Not allowed here."],
  ])("%j complains at %s: %s", (value, pointer, message) => {
    const { problems } = check(schema, value);
    expect(problems).toContainEqual({ pointer, message });
  });

  it("[RE-05] takes an absent value for null", () => {
    expect(check({ type: "null" }, undefined).problems).toEqual([]);
    expect(check({ type: "string" }, undefined).problems).not.toEqual([]);
  });

  it("[S4] takes unknown keywords for annotations", () => {
    const odd = { type: "string", enumNames: ["x"], "x-hint": 7 };
    expect(check(odd, "a")).toEqual({ checkable: true, problems: [] });
  });

  it.each([
    { pattern: "(" },
    { $ref: "#/nowhere" },
    { $ref: "https://example.com/schema.json" },
    { $ref: "#" },
  ])("leaves the judgement to the server when the schema cannot be read: %j", (broken) => {
    expect(check(broken, "a")).toEqual({ checkable: false, problems: [] });
  });

  it("leaves the schema as it was, also a frozen one", () => {
    const frozen = Object.freeze({ type: "string", $defs: Object.freeze({ a: {} }) });
    expect(check(frozen, "a").problems).toEqual([]);
    expect(Object.getOwnPropertyNames(frozen)).toEqual(["type", "$defs"]);
  });
});

const text = (bounds = {}) => ({ type: "string", ...bounds });
const group = (properties: object, ...required: string[]) => ({
  type: "object",
  properties,
  required,
});
const card = group({ kind: { const: "card" }, number: text(), network: { enum: ["v"] } }, "number");
const cash = group({ kind: { const: "cash" }, till: { type: "integer" } }, "till");
const PAID = { oneOf: [{ $ref: "#/$defs/card" }, { $ref: "#/$defs/cash" }], $defs: { card, cash } };
const NONE = { pointer: "", message: "Fits none of the allowed forms." };

describe("of several alternatives", () => {
  it.each<[string, JsonSchema, unknown, string, string]>([
    ["constants", PAID, { kind: "card" }, "/number", "Required."],
    ["constants", PAID, { kind: "cash", till: "x" }, "/till", "Must be a whole number."],
    [
      "a constant before a list of them",
      PAID,
      { kind: "card", number: "1", network: "w" },
      "/network",
      "Not one of the allowed values.",
    ],
    ["its type", { anyOf: [card, { type: "null" }] }, {}, "/number", "Required."],
    [
      "its type",
      { anyOf: [{ type: "integer" }, text({ minLength: 3 })] },
      "a",
      "",
      "Must have at least 3 characters.",
    ],
    [
      "its type before constants",
      { anyOf: [{ type: "integer" }, text({ const: "all" })] },
      "some",
      "",
      "Not one of the allowed values.",
    ],
    [
      "types of members",
      { anyOf: [group({ a: text(), b: text() }, "a", "b"), group({ a: { type: "integer" } })] },
      { a: "x" },
      "/b",
      "Required.",
    ],
    [
      "what it may not have",
      { anyOf: [{ ...group({}), additionalProperties: false }, group({ a: text() }, "c")] },
      { a: "x", b: "y" },
      "/c",
      "Required.",
    ],
    [
      "alternatives within",
      { anyOf: [{ type: "null" }, { type: "array", items: PAID }], $defs: PAID.$defs },
      [{ kind: "cash", till: 1 }, { kind: "cash" }],
      "/1/till",
      "Required.",
    ],
  ])("the one is meant that fits best by %s: %j, %j", (_, schema, value, pointer, message) => {
    expect(check(schema, value)).toEqual({ checkable: true, problems: [{ pointer, message }] });
  });

  it("none is meant more that lacks less, as nobody filled it in yet", () => {
    const { problems } = check({ anyOf: [group({}, "a", "b"), group({}, "c")] }, {});
    const missing = ["/a", "/b", "/c"].map((pointer) => ({ pointer, message: "Required." }));
    expect(problems).toEqual([NONE, ...missing]);
  });

  it("those of one kind are told in one sentence", () => {
    const either = { anyOf: [{ type: "integer" }, text(), { type: ["string", "null"] }] };
    expect(check(either, true).problems).toEqual([
      { pointer: "", message: "Must be a whole number or text or null." },
    ]);
    expect(check({ anyOf: [{ const: 1 }, { const: 2 }] }, 3).problems).toEqual([
      { pointer: "", message: "Not one of the allowed values." },
    ]);
  });

  it("what lies between them says which of them it may be", () => {
    const { problems } = check({ anyOf: [{ maximum: 1 }, { minimum: 9 }] }, 5);
    expect(problems.map((problem) => problem.message)).toEqual([
      "Fits none of the allowed forms.",
      "Must be at most 1.",
      "Must be at least 9.",
    ]);
  });

  it("more than one may fit where only one should", () => {
    const { problems } = check({ oneOf: [{ minimum: 1 }, { maximum: 9 }, text()] }, 5);
    expect(problems).toEqual([
      { pointer: "", message: "Fits more than one of the allowed forms." },
    ]);
  });

  it("what is wrong beside them is told as well", () => {
    const schema = {
      ...group({ a: { anyOf: [{ type: "null" }, text({ minLength: 2 })] } }, "z"),
      additionalProperties: false,
    };
    expect(check(schema, { a: "x", b: 1 }).problems).toEqual([
      { pointer: "/z", message: "Required." },
      { pointer: "/a", message: "Must have at least 2 characters." },
      { pointer: "/b", message: "Not allowed here." },
    ]);
    expect(check({ oneOf: [false, {}, {}] }, 1).problems).toHaveLength(1);
    expect(check({ anyOf: [] }, 1).problems).toEqual([NONE]);
  });
});

describe("an answer", () => {
  it("[TR-25] to a confirmation without a schema is a boolean and nothing else", () => {
    const ask = { id: "a", reason: "confirmation" };
    expect(validateAnswer(ask, true)).toEqual([]);
    for (const payload of ["true", 1, {}, undefined, null]) {
      expect(validateAnswer(ask, payload)).not.toEqual([]);
    }
  });

  it("[CL-05] without a schema may be anything", () => {
    expect(validateAnswer({ id: "a", reason: "x:y" }, { any: 1 })).toEqual([]);
  });
});
