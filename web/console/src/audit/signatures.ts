import { plainText } from "@sayso/react/components";
import { personName } from "@sayso/react/core";
import type { AuditRow, AuditTrail, Signed } from "./trail.js";

/** What is wrong with the signatures of a row, in a word or two; null for nothing. */
export function faultOf({ signatures }: AuditRow): string | null {
  const bad = signatures.find(({ is }) => is !== "valid");
  return bad === undefined ? null : FAULTS[bad.is];
}

/** True if a signature of a trail is not what it should be, or nobody here can say. */
export function hasBadSignatures({
  signatures: { invalid = 0, unknown = 0 },
}: AuditTrail): boolean {
  return invalid + unknown > 0;
}

/** How all signatures of a trail are, in a sentence; "" where nothing is signed. */
export function signaturesOf({ signatures }: AuditTrail): string {
  const { valid = 0, invalid = 0, unknown = 0, unsigned = 0 } = signatures;
  const all = valid + invalid + unknown + unsigned;
  if (all === 0) return "";
  if (valid === all) return all === 1 ? "1 valid signature." : `${all} valid signatures.`;
  const parts = [
    valid > 0 && `${valid} valid`,
    invalid > 0 && `${invalid} not valid`,
    unknown > 0 && `${unknown} by keys that this server does not have`,
    unsigned > 0 && `${unsigned} missing`,
  ].filter((part) => part !== false);
  return `Signatures: ${parts.join(", ")}.`;
}

/** What each signature of a row is worth, in a sentence. */
export function signatureLines({ signatures }: AuditRow): readonly string[] {
  return signatures.map((signed) => plainText(lineOf(signed)));
}

const FAULTS = {
  valid: "",
  invalid: "signature not valid",
  unknown: "signature of an unknown key",
  unsigned: "not signed",
} as const;

function lineOf({ by, is, key, at }: Signed): string {
  const who = personName(by);
  if (is === "unsigned") return `What ${who} said is not signed.`;
  const when = at === null ? "" : ` at ${at.replace("T", " ").slice(0, 19)} UTC`;
  const signed = `What ${who} said is signed by key ${key ?? "?"}${when}`;
  if (is === "valid") return `${signed}: valid.`;
  return is === "invalid"
    ? `${signed}: not valid. It is not what was signed.`
    : `${signed}: this server does not have that key, so nobody can say here whether it is valid.`;
}
