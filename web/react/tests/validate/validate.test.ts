import { describe, expect, it } from "vitest";
import { check, validateAnswer } from "../../src/validate/index.js";

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
