import { describe, expect, it } from "vitest";
import { shapeOf, type JsonSchema } from "../../src/core/index.js";
import { choiceFields } from "../../src/core/choiceFields.js";

const ask = (responseSchema?: JsonSchema, reason = "x:y") =>
  shapeOf({ id: "a", reason, ...(responseSchema !== undefined && { responseSchema }) });
const object = (properties: JsonSchema, ...required: string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
});
const approved = { type: "boolean" };

describe("the kind of answer", () => {
  it("[IN-07] is a bare boolean for a confirmation without a schema", () => {
    expect(ask(undefined, "confirmation")).toMatchObject({ kind: "approval", bare: true });
  });

  it("[IN-12] is free text for an unknown reason without a schema", () => {
    expect(ask()).toEqual({ kind: "text" });
  });

  it("[TB-11] [CP-09] offers an edit only where the schema has editedArgs, with the definitions it needs", () => {
    expect(ask(object({ approved }, "approved"))).toMatchObject({ kind: "approval", edit: null });
    const schema = { ...object({ approved, editedArgs: { $ref: "#/$defs/A" } }), $defs: { A: {} } };
    expect(ask(schema)).toMatchObject({ edit: { $ref: "#/$defs/A", $defs: { A: {} } } });
  });

  it("takes small extra questions along with a yes or no", () => {
    const note = { anyOf: [{ type: "string" }, { type: "null" }], title: "Note" };
    const shape = ask(object({ approved, reason: { type: "string" }, note }, "approved"));
    expect(shape).toMatchObject({
      reason: "optional",
      extras: [{ name: "note", title: "Note", type: "string", required: false }],
    });
  });

  it("is a form when a yes or no needs more than small questions", () => {
    const list = { type: "array", items: {} };
    expect(ask(object({ approved, list }, "approved", "list")).kind).toBe("form");
  });

  it("is a choice when the action has named options", () => {
    const action = { oneOf: [{ const: "go", title: "Go", description: "now" }, { const: 7 }] };
    expect(ask(object({ action, result: { type: "string" } }, "action"))).toEqual({
      kind: "choice",
      choices: [
        { value: "go", title: "Go", description: "now" },
        { value: 7, title: "7", description: null },
      ],
    });
  });

  it("asks with a choice for what the schema wants for this one, and for nothing else", () => {
    const about = (value: unknown, then: JsonSchema) => ({
      if: { properties: { action: { const: value } }, required: ["action"] },
      then,
    });
    const schema = {
      ...object({ action: {}, params: {}, note: { type: "string" } }, "action"),
      allOf: [
        about("all", { properties: { params: false } }),
        about("some", { properties: { params: { $ref: "#/$defs/P" } }, required: ["params"] }),
      ],
      $defs: { P: { type: "integer" } },
    };
    const note = { type: "string" };
    expect(choiceFields(schema, "all")).toMatchObject({ properties: { note }, required: [] });
    expect(choiceFields(schema, "all")?.properties).toEqual({ note });
    expect(choiceFields(schema, "some")).toMatchObject({
      properties: { note, params: { $ref: "#/$defs/P" } },
      required: ["params"],
      $defs: { P: { type: "integer" } },
    });
    expect(choiceFields(object({ action: {} }, "action"), "all")).toBeNull();
  });

  it.each([{}, { type: "string" }, { type: "object" }, { properties: 7, required: "x" }])(
    "is a form for any other schema, however odd: %j",
    (schema) => {
      expect(ask(schema).kind).toBe("form");
    },
  );
});
