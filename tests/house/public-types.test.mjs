// A public name whose type a checker does not know fails the stage, and names itself.
import assert from "node:assert/strict";
import test from "node:test";

import { unknownTypes } from "../../scripts/publicTypes.mjs";

const symbol = (name, more = {}) => ({
  name,
  isExported: true,
  isTypeKnown: true,
  isTypeAmbiguous: false,
  diagnostics: [],
  ...more,
});
const reported = (...symbols) => ({ typeCompleteness: { symbols } });

test("what is known passes, and so does what nobody imports", () => {
  const inner = symbol("sayso.turns.inner", { isExported: false, isTypeKnown: false });
  assert.deepEqual(unknownTypes(reported(symbol("sayso.Sayso"), inner)), []);
});

test("what is unknown or ambiguous is named with what is wrong", () => {
  const wrong = [
    symbol("sayso.one", { isTypeKnown: false, diagnostics: [{ message: "no annotation" }] }),
    symbol("sayso.two", { isTypeAmbiguous: true }),
  ];
  assert.deepEqual(unknownTypes(reported(...wrong)), ["sayso.one: no annotation", "sayso.two"]);
});

test("a module that is left out covers what is below it, and no other that begins alike", () => {
  const names = ["sayso.langgraph", "sayso.langgraph.mount", "sayso.langgraphs"];
  const wrong = names.map((name) => symbol(name, { isTypeKnown: false }));
  assert.deepEqual(unknownTypes(reported(...wrong), ["sayso.langgraph"]), ["sayso.langgraphs"]);
});

test("a module that is not found is no success", () => {
  for (const typeCompleteness of [undefined, { symbols: [] }]) {
    assert.deepEqual(unknownTypes({ typeCompleteness }), ["there is no such module"]);
  }
});
