import { asRecord } from "./json.js";
import { MAX_CHOICES, MAX_SCHEMA_DEPTH, MAX_SUBSCHEMAS } from "./limits.js";
import type { JsonSchema } from "./shape.js";

/** Keywords with a schema each (definitions count where they are used), and whether they are about the same value or a part of it. */
const ONE = new Map([
  ["not", false],
  ["if", false],
  ["then", false],
  ["else", false],
  ["items", true],
  ["additionalItems", true],
  ["unevaluatedItems", true],
  ["contains", true],
  ["additionalProperties", true],
  ["unevaluatedProperties", true],
  ["propertyNames", true],
]);
const LIST = new Map([
  ["allOf", false],
  ["anyOf", false],
  ["oneOf", false],
  ["prefixItems", true],
  ["items", true],
]);
const NAMED = new Map([
  ["dependentSchemas", false],
  ["properties", true],
  ["patternProperties", true],
]);

/** Facts about a schema: whether it is fit to be worked on, and its regular expressions. */
export interface Bounds {
  /** Why no form is made of it and nothing is checked against it here; null when both is fine. */
  readonly trouble: string | null;
  readonly patterns: readonly string[];
}

const known = new WeakMap<JsonSchema, Bounds>();

/**
 * Looks at a schema before anything is made of it, since it is a stranger's (SE-06): how much it
 * comes to once its references are followed, how deep, how many values it lists, and whether it
 * refers to other documents. The look itself is bounded; each schema object is looked at once.
 */
export function boundsOf(schema: JsonSchema): Bounds {
  let bounds = known.get(schema);
  if (bounds === undefined) {
    bounds = new Look(schema).bounds();
    known.set(schema, bounds);
  }
  return bounds;
}

interface Place {
  readonly depth: number;
  /** References on the way here. */
  readonly followed: readonly string[];
  /** Those since a part of the value was entered: one that comes back consumes nothing. */
  readonly inPlace: readonly string[];
}

class Look {
  readonly #root: JsonSchema;
  readonly #patterns = new Set<string>();
  #subschemas = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  bounds(): Bounds {
    const trouble = this.#at(this.#root, { depth: 0, followed: [], inPlace: [] });
    return { trouble, patterns: [...this.#patterns] };
  }

  #at(value: unknown, place: Place): string | null {
    const schema = asRecord(value);
    if (schema === undefined) return null;
    this.#subschemas += 1;
    if (this.#subschemas > MAX_SUBSCHEMAS) return "describes too much at once";
    if (place.depth > MAX_SCHEMA_DEPTH) return "is nested too deeply";
    if (!hasTypes(schema.type)) return "has a type that does not exist";
    if (Array.isArray(schema.enum) && schema.enum.length > MAX_CHOICES) return TOO_MANY;
    if (typeof schema.pattern === "string") this.#patterns.add(schema.pattern);
    const named = asRecord(schema.patternProperties);
    for (const pattern of Object.keys(named ?? {})) this.#patterns.add(pattern);
    return this.#reference(schema, place) ?? this.#inside(schema, place);
  }

  #reference(schema: JsonSchema, place: Place): string | null {
    for (const key of ["$ref", "$dynamicRef"]) {
      const reference = schema[key];
      if (typeof reference !== "string") continue;
      if (!reference.startsWith("#")) return "refers to another document";
      if (place.inPlace.includes(reference)) return "refers to itself without an end";
      if (place.followed.includes(reference)) continue;
      const trouble = this.#at(resolve(this.#root, reference), {
        depth: place.depth + 1,
        followed: [...place.followed, reference],
        inPlace: [...place.inPlace, reference],
      });
      if (trouble !== null) return trouble;
    }
    return null;
  }

  #inside(schema: JsonSchema, place: Place): string | null {
    const deeper = (part: boolean): Place => ({
      depth: place.depth + 1,
      followed: place.followed,
      inPlace: part ? [] : place.inPlace,
    });
    for (const [key, value] of Object.entries(schema)) {
      const [one, list, members] = [ONE.get(key), LIST.get(key), NAMED.get(key)];
      let trouble: string | null = null;
      if (list !== undefined && Array.isArray(value)) {
        if (value.length > MAX_CHOICES) return TOO_MANY;
        // A list of plain values, each with its title, is no more work than an `enum`.
        if (arePlain(value)) continue;
        trouble = this.#each(value, deeper(list));
      } else if (one !== undefined) {
        trouble = this.#at(value, deeper(one));
      } else if (members !== undefined) {
        trouble = this.#each(Object.values(asRecord(value) ?? {}), deeper(members));
      }
      if (trouble !== null) return trouble;
    }
    return null;
  }

  #each(values: readonly unknown[], place: Place): string | null {
    for (const value of values) {
      const trouble = this.#at(value, place);
      if (trouble !== null) return trouble;
    }
    return null;
  }
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

/** True if values can be of this: no value is of a type that JSON Schema does not know. */
function hasTypes(type: unknown): boolean {
  if (type === undefined) return true;
  return (Array.isArray(type) ? (type as unknown[]) : [type]).every((item) =>
    TYPES.includes(item as string),
  );
}

/** True if these are values to choose from, with nothing else to be checked. */
function arePlain(options: readonly unknown[]): boolean {
  return options.every((item) => {
    const option = asRecord(item);
    return (
      option !== undefined && "const" in option && Object.keys(option).every((key) => SAID.has(key))
    );
  });
}

const SAID: ReadonlySet<string> = new Set(["const", "title", "description", "type"]);

const TOO_MANY = "lists too many values to choose from";

/** Resolves `#/…`; undefined where it leads nowhere, or to a name. */
export function resolve(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  const path = reference.slice(2).split("/");
  return path.reduce<unknown>((place, key) => {
    const name = key.replaceAll("~1", "/").replaceAll("~0", "~");
    return Array.isArray(place) ? place[Number(name)] : asRecord(place)?.[name];
  }, root);
}
