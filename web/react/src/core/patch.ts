import { asRecord, equalJson } from "./json.js";

/**
 * A JSON value with a patch (RFC 6902) applied; the value itself may be changed by it. Throws where
 * the patch does not fit, or is none.
 */
export function patched(value: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw unfit();
  return (patch as unknown[]).reduce((root, operation) => applied(root, operation), value);
}

function applied(root: unknown, operation: unknown): unknown {
  const { op, path, from, value } = asRecord(operation) ?? {};
  switch (op) {
    case "add":
      return put(root, path, value, "add");
    case "replace":
      return put(root, path, value, "replace");
    case "remove":
      return taken(root, path);
    case "copy":
      return put(root, path, structuredClone(at(root, from)), "add");
    case "move": {
      const moved = at(root, from);
      return put(taken(root, from), path, moved, "add");
    }
    case "test":
      if (!equalJson(at(root, path), value)) throw unfit();
      return root;
    default:
      throw unfit();
  }
}

function unfit(): Error {
  return new RangeError("the patch does not fit");
}

function keysOf(path: unknown): string[] {
  if (typeof path !== "string" || (path !== "" && !path.startsWith("/"))) {
    throw unfit();
  }
  return path
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function at(root: unknown, path: unknown): unknown {
  return keysOf(path).reduce(step, root);
}

function step(inside: unknown, key: string): unknown {
  if (typeof inside !== "object" || inside === null || !Object.hasOwn(inside, key)) {
    throw unfit();
  }
  return (inside as Readonly<Record<string, unknown>>)[key];
}

function put(root: unknown, path: unknown, value: unknown, how: "add" | "replace"): unknown {
  const keys = keysOf(path);
  const last = keys.pop();
  if (last === undefined) return value;
  const inside = keys.reduce(step, root);
  if (Array.isArray(inside) && how === "add") {
    inside.splice(last === "-" ? inside.length : placeIn(last, inside.length), 0, value);
  } else {
    if (how === "replace") step(inside, last);
    const record = inside as Record<string, unknown>;
    // Never a setter: `__proto__` is a member like any other.
    Object.defineProperty(record, last, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return root;
}

function taken(root: unknown, path: unknown): unknown {
  const keys = keysOf(path);
  const last = keys.pop();
  if (last === undefined) return undefined;
  const inside = keys.reduce(step, root);
  step(inside, last);
  if (Array.isArray(inside)) inside.splice(placeIn(last, inside.length - 1), 1);
  else Reflect.deleteProperty(inside as object, last);
  return root;
}

function placeIn(key: string, most: number): number {
  const place = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : NaN;
  if (!(place <= most)) throw unfit();
  return place;
}
