/** Steps that a regular expression may take on one text here; the server has no such limit. */
const MAX_STEPS = 1e7;
const MAX_PATTERN_CHARACTERS = 1_000;

/**
 * True if a browser can be trusted with a stranger's regular expression on a text of that length:
 * its engine goes back and tries again, so some take longer than anybody lives (SE-06). An upper
 * bound is computed from how often the expression repeats and chooses; one that repeats what itself
 * varies, or refers back to a group, is never trusted.
 */
export function isSafePattern(pattern: string, length: number): boolean {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return false;
  const { ways, loops } = new Reading(pattern).whole();
  const tries = pattern.startsWith("^") && !pattern.includes("|") ? 0 : 1;
  return ways * Math.max(length, 1) ** (loops + tries) <= MAX_STEPS;
}

/** How much an expression varies: by choices, and by repetitions without an end. */
interface Cost {
  readonly ways: number;
  readonly loops: number;
}

const FIXED: Cost = { ways: 1, loops: 0 };
const NEVER: Cost = { ways: Infinity, loops: 0 };

class Reading {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Cost {
    const cost = this.#alternatives();
    // A bracket too many: no engine takes it, and neither do we.
    return this.#at < this.#text.length ? NEVER : cost;
  }

  #alternatives(): Cost {
    const arms = [this.#sequence()];
    while (this.#take("|")) arms.push(this.#sequence());
    return {
      ways: arms.reduce((sum, arm) => sum + arm.ways, 0),
      loops: Math.max(...arms.map((arm) => arm.loops)),
    };
  }

  #sequence(): Cost {
    let [ways, loops] = [1, 0];
    while (this.#at < this.#text.length && !"|)".includes(this.#next)) {
      const cost = this.#repeated(this.#atom());
      ways *= cost.ways;
      loops += cost.loops;
    }
    return { ways, loops };
  }

  #atom(): Cost {
    const character = this.#next;
    this.#at += 1;
    if (character === "(") return this.#group();
    if (character === "[") return this.#skip(/(?:\\[^]|[^\]\\])*\]/y, FIXED);
    if (character !== "\\") return FIXED;
    if (/[1-9k]/.test(this.#next)) return NEVER;
    return this.#skip(/(?:u\{[^}]*\}|[pP]\{[^}]*\}|[^])/y, FIXED);
  }

  #group(): Cost {
    this.#skip(/\?(?:[:=!]|<[=!]|<[^>]*>)/y, FIXED);
    const inner = this.#alternatives();
    return this.#take(")") ? inner : NEVER;
  }

  #repeated(atom: Cost): Cost {
    const varies = atom.ways > 1 || atom.loops > 0;
    const match = this.#match(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y);
    if (match === undefined) return atom;
    const [least, most] = timesOf(match);
    if (most === Infinity) return varies ? NEVER : { ways: 1, loops: 1 };
    return { ways: atom.ways ** most * (most - least + 1), loops: atom.loops * most };
  }

  get #next(): string {
    return this.#text.charAt(this.#at);
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(expected: RegExp): string | undefined {
    expected.lastIndex = this.#at;
    const text = expected.exec(this.#text)?.[0];
    if (text !== undefined) this.#at += text.length;
    return text;
  }

  #skip(expected: RegExp, cost: Cost): Cost {
    this.#match(expected);
    return cost;
  }
}

/** How often at least and at most: `?`, `*`, `+`, `{2}`, `{2,}`, `{2,5}`. */
function timesOf(quantifier: string): [least: number, most: number] {
  if (quantifier.startsWith("?")) return [0, 1];
  if (quantifier.startsWith("*")) return [0, Infinity];
  if (quantifier.startsWith("+")) return [1, Infinity];
  const [, least = "0", comma, most] = /^\{(\d+)(,?)(\d*)/.exec(quantifier) ?? [];
  if (comma === "") return [Number(least), Number(least)];
  return [Number(least), most === "" ? Infinity : Number(most)];
}
