/** The subject of everybody on a server without authentication. */
const LOCAL = "local";

/** What the server has in place of a name that was erased. */
const ERASED = /^p_[\w-]{16}$/u;

/** How a person is called on a page: a server that knows nobody has one user, the reader. */
export function personName(subject: string): string {
  if (subject === LOCAL) return "you";
  return ERASED.test(subject) ? `erased person ${subject}` : subject;
}
