import { describe, expect, it } from "vitest";
import { isSafePattern } from "../../../src/core/validate/patterns.js";
import { check } from "../../../src/core/index.js";

describe("a stranger's regular expression", () => {
  it.each([
    "^(a+)+$",
    "(a|a)*b",
    "(a|aa){30}b",
    "^(?:a?){25}a{25}$",
    "(?=(x+))\\1y",
    "((a*)b?)*",
    "a*a*a*a*a*a*c",
    "^[^@]+@[^@]+$|.*.*.*x",
    "(",
    "a)",
    "x".repeat(2_000),
  ])("[SE-06] is not run when it might go on for ever: %s", (pattern) => {
    expect(isSafePattern(pattern, 200)).toBe(false);
  });

  it.each([
    "^[A-Z]+$",
    "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
    "^(\\d{3}-)+\\d$",
    "^\\p{Lu}[\\])}|(]*\\u{1F600}?$",
    "^(?:red|green|blue)$",
    "^(?<year>\\d{4})-(?!00)\\d{2}$",
    "https?://[a-z.]+?/",
  ])("[SE-06] is run when it cannot: %s", (pattern) => {
    expect(isSafePattern(pattern, 200)).toBe(true);
    expect(() => new RegExp(pattern, "u")).not.toThrow();
  });

  it("[SE-06] is run on short texts where long ones would take too long", () => {
    expect(isSafePattern("a+b+c", 100)).toBe(true);
    expect(isSafePattern("a+b+c", 10_000)).toBe(false);
  });

  it.each([
    { pattern: "^(a+)+$" },
    { patternProperties: { "^(a+)+$": {} } },
    { not: { anyOf: [{ pattern: "^(a+)+$" }] } },
  ])("[SE-06] leaves the answer to the server, which has no such trouble: %j", (schema) => {
    // Run, it would take longer than the test has.
    for (const value of ["a".repeat(60) + "!", { ["a".repeat(60) + "!"]: [] }, []]) {
      expect(check(schema, value)).toEqual({ checkable: false, problems: [] });
    }
  });
});
