/** The subject of everybody on a server without authentication. */
const LOCAL = "local";

/** How a person is called on a page: a server that knows nobody has one user, the reader. */
export function personName(subject: string): string {
  return subject === LOCAL ? "you" : subject;
}
