import { writeJson } from "@sayso/react/core";
const WORDS: Readonly<Record<string, string>> = {
  approveWithEdits: "approval with changes",
  clientProvided: "client tools",
  httpBinary: "binary over HTTP",
  supportedMimeTypes: "media types",
  maxIterations: "maximum rounds",
  maxExecutionTime: "maximum milliseconds",
  documentationUrl: "documentation",
};

/** The name of a capability, as people read it: `parallelCalls` is "parallel calls". */
export function wordsFor(name: string): string {
  return (
    WORDS[name] ??
    name.replaceAll(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
  );
}

/** When a call of a tool asks a person first, as Sayso's own servers tell it; null if they don't. */
export function asksWhen(approval: unknown): string | null {
  if (approval === "always") return "always asks";
  if (approval === "when") return "asks by rule";
  return approval === "never" ? "never asks" : null;
}

/** The type of a parameter in a word or two, from its JSON Schema. */
export function typeOf(schema: Readonly<Record<string, unknown>>): string {
  const { type, anyOf, oneOf } = schema;
  if (Array.isArray(schema.enum)) return schema.enum.map((item) => writeJson(item)).join(" | ");
  if (Object.hasOwn(schema, "const")) return writeJson(schema.const);
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return type.map(String).join(" or ");
  const several = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  const kinds = (several as unknown[]).map((item) =>
    typeof item === "object" && item !== null
      ? typeOf(item as Record<string, unknown>)
      : "anything",
  );
  return kinds.length > 0 ? [...new Set(kinds)].join(" or ") : "anything";
}
