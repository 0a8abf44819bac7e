import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";

/** Something that is done at another place, as the server tells it. */
export interface Elsewhere {
  /** Where it is done. */
  readonly url: string;
  /** The host of that address, as a browser reads it, with its port. */
  readonly host: string;
  /** What is to be done there; null where only the message says it. */
  readonly text: string | null;
}

/**
 * Reads it off `metadata.sayso`; null for any other question, and for an address that no link may
 * lead to: anything but https (http for this machine), and one with a user before its host.
 */
export function elsewhereOf(interrupt: Interrupt): Elsewhere | null {
  const details = asRecord(asRecord(interrupt.metadata)?.sayso);
  const written = asText(details?.url);
  if (details?.kind !== "elsewhere" || written === undefined || !URL.canParse(written)) return null;
  const { protocol, hostname, username, password, host, href } = new URL(written);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  if (!isSafe || username !== "" || password !== "") return null;
  return { url: href, host, text: asText(details.text) ?? null };
}

function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
