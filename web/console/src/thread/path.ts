/**
 * The console's address of a thread. It is not below `/threads`, where the server's own interface
 * is; a thread's id may hold slashes, so it is one encoded part.
 */
export function threadPath(agent: string, threadId: string): string {
  return `/thread/${encodeURIComponent(agent)}/${encodeURIComponent(threadId)}`;
}

/** Comes along on the way to a page that takes the focus: what was pressed is gone by then. */
export const ARRIVED = "arrived";
