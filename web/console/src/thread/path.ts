import { useLocation } from "react-router";

/**
 * The console's address of a thread. It is not below `/threads`, where the server's own interface
 * is; a thread's id may hold slashes, so it is one encoded part.
 */
export function threadPath(agent: string, threadId: string): string {
  return `/thread/${encodeURIComponent(agent)}/${encodeURIComponent(threadId)}`;
}

/** The address of a conversation. */
export function playPath(agent: string, threadId: string): string {
  return `/play/${encodeURIComponent(agent)}/${encodeURIComponent(threadId)}`;
}

/**
 * The parts of the current address after the first, each decoded once: ids are whatever their
 * makers chose. The router's own parameters take the text `%2F` in one for a slash.
 */
export function usePathParts(): readonly string[] {
  const { pathname } = useLocation();
  return pathname.replace(/\/$/, "").split("/").slice(2).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

/** Comes along on the way to a page that takes the focus: what was pressed is gone by then. */
export const ARRIVED = "arrived";
