/**
 * Where the server is mounted, always with a trailing slash. The server says so in the page it
 * serves; the development server is at the root.
 */
export function rootPath(page: Document = document): string {
  return said(page, "root") ?? "/";
}

/** Where this server tells what it really did; null on every server but the demo. */
export function effectsPath(page: Document = document): string | null {
  return said(page, "effects");
}

/** What the server says in the page that it serves; null for nothing. */
export function said(page: Document, name: string): string | null {
  const content = page.querySelector(`meta[name="sayso-${name}"]`)?.getAttribute("content");
  return content === null || content === undefined || content === "" ? null : content;
}

/** The address of something on the server, given without a leading slash. */
export function serverUrl(path: string): string {
  return new URL(path, new URL(rootPath(), window.location.origin)).href;
}
