const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
const WHOLE = /^-?\d+$/;
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n];

/** A number as JSON spells it: a `bigint` where a double would lose digits. Only of what has no trouble. */
export function readNumber(token: string): number | bigint {
  const number = Number(token);
  return WHOLE.test(token) && !Number.isSafeInteger(number) ? BigInt(token) : number;
}

/** Why a text is no number that arrives as it is written, in words; null when it is one. */
export function troubleOf(token: string): string | null {
  if (!NUMBER.test(token)) return "Must be a number.";
  if (WHOLE.test(token)) {
    const whole = BigInt(token);
    return whole < LEAST || whole > MOST ? "Must have at most 64 bits." : null;
  }
  const number = Number(token);
  if (!Number.isFinite(number)) return "Must be a smaller number.";
  return digitsOf(token) === digitsOf(String(number))
    ? null
    : `Has too many digits: it would become ${number}.`;
}

/** The first number in JSON text that does not arrive as it is written, and why; null without one. */
export function troubleIn(json: string): string | null {
  for (const [token] of json.matchAll(TOKEN)) {
    const trouble = token.startsWith('"') ? null : troubleOf(token);
    if (trouble !== null) return `${token}: ${trouble}`;
  }
  return null;
}

/** The one spelling of all that are the same number. */
function digitsOf(token: string): string {
  const [, sign = "", whole = "", part = "", power = "0"] = NUMBER.exec(token) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  const exponent = Number(power) - part.length + digits.length - short.length;
  return short === "" ? "0" : `${sign}${short}e${exponent}`;
}
