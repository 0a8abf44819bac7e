import { describe, expect, it } from "vitest";
import { boundsOf } from "../../src/core/bounds.js";
import { shapeOf, type JsonSchema } from "../../src/core/index.js";

const trouble = (schema: JsonSchema) => boundsOf(schema).trouble;
const nested = (depth: number): JsonSchema =>
  depth === 0 ? { type: "string" } : { type: "array", items: nested(depth - 1) };
/** Each definition uses the next one twice, so what is written in a line doubles with each. */
const doubling = (steps: number, kind: "allOf" | "prefixItems"): JsonSchema => {
  const next = (step: number) => ({ $ref: `#/$defs/d${step}` });
  const $defs: Record<string, JsonSchema> = { [`d${steps}`]: { type: "string" } };
  for (let step = 0; step < steps; step += 1) {
    $defs[`d${step}`] = { [kind]: [next(step + 1), next(step + 1)] };
  }
  return { ...next(0), $defs };
};

describe("a schema that comes over the wire", () => {
  it.each([
    ["is nested too deeply", nested(40)],
    ["describes too much at once", doubling(14, "allOf")],
    ["describes too much at once", doubling(14, "prefixItems")],
    ["describes too much at once", { anyOf: Array.from({ length: 2_000 }, () => ({})) }],
    ["lists too many values to choose from", { enum: Array.from({ length: 10_001 }, String) }],
    ["lists too many values to choose from", { oneOf: Array.from({ length: 10_001 }, () => ({})) }],
    ["refers to another document", { items: { $ref: "https://example.com/a.json" } }],
    ["refers to another document", { allOf: [{ $ref: "other.json#/a" }] }],
    ["refers to itself without an end", { $ref: "#" }],
    ["refers to itself without an end", { anyOf: [{ type: "null" }, { not: { $ref: "#" } }] }],
  ])("[SE-06] %s", (why, schema) => {
    expect(trouble(schema)).toBe(why);
  });

  it("[SE-06] may be a tree of any height, have definitions and long lists", () => {
    const tree = { properties: { left: { $ref: "#" }, right: { $ref: "#" } } };
    expect(trouble(tree)).toBeNull();
    expect(trouble(doubling(7, "prefixItems"))).toBeNull();
    expect(trouble({ enum: Array.from({ length: 10_000 }, String) })).toBeNull();
    const titled = Array.from({ length: 10_000 }, (_, index) => ({
      const: index,
      title: `No. ${index}`,
    }));
    expect(trouble({ type: "array", items: { oneOf: titled } })).toBeNull();
    expect(
      trouble({ $ref: "#/$defs/a~1b", $defs: { "a/b": { items: { $ref: "#/x" } } } }),
    ).toBeNull();
  });

  it("is looked at once, and its regular expressions are found wherever they are", () => {
    const schema = {
      properties: { a: { pattern: "a" }, b: { anyOf: [{ pattern: "b" }, { pattern: 7 }] } },
      patternProperties: { c: { pattern: "a" } },
    };
    expect(boundsOf(schema)).toBe(boundsOf(schema));
    expect([...boundsOf(schema).patterns].sort()).toEqual(["a", "b", "c"]);
  });

  it("[SE-06] is a choice of thousands, and of no more than a server of ours would ask", () => {
    const oneOf = Array.from({ length: 10_001 }, (_, index) => ({ const: index }));
    const ask = (list: JsonSchema[]) => {
      const responseSchema = { type: "object", properties: { action: { oneOf: list } } };
      return shapeOf({ id: "a", reason: "sayso:decision", responseSchema });
    };
    expect(ask(oneOf).kind).toBe("form");
    expect(ask(oneOf.slice(1)).kind).toBe("choice");
  });
});
