// Prints the schemas of protocol 1.0 as JSON Schema: one for each type of event, and the inputs.
import { createRequire } from "node:module";

// The very package that the official client of 1.0 reads streams with, and the zod that it uses.
const client = createRequire(createRequire(import.meta.url).resolve("ag-ui-client-1/package.json"));
const core = createRequire(client.resolve("@ag-ui/core/schemas"));
const spec = core("@ag-ui/core/schemas");
const { z } = core("zod/v4");

const SAMPLES = [null, true, 1, "", [], {}];
const TYPES = ["null", "boolean", "number", "string", "array", "object"];

// A schema that is a function has no JSON Schema: what it says of each type of value has.
function probed(schema) {
  return TYPES.filter((_, index) => schema.safeParse(SAMPLES[index]).success);
}

// A producer sends what the schema describes and nothing else, but where the schema says otherwise.
function override({ zodSchema, jsonSchema }) {
  const { type } = zodSchema._zod.def;
  if (type === "custom" || type === "any") jsonSchema.type = probed(zodSchema);
  if (jsonSchema.properties && !jsonSchema.specOpen) jsonSchema.additionalProperties = false;
}

function converted(schema) {
  return z.toJSONSchema(schema, { unrepresentable: "any", io: "input", override });
}

const events = {};
for (const [name, schema] of Object.entries(spec)) {
  const type = name.endsWith("EventSchema") ? schema.shape?.type?.value : undefined;
  if (type) events[type] = converted(schema);
}
const named = ["RunAgentInput", "AgentCapabilities", "Interrupt", "ResumeEntry", "Message"];
const shapes = Object.fromEntries(named.map((name) => [name, converted(spec[`${name}Schema`])]));
console.log(JSON.stringify({ version: spec.PROTOCOL_VERSION, events, shapes }));
