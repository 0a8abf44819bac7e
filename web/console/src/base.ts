/**
 * Where the server is mounted, always with a trailing slash. The server says so in the page it
 * serves; the development server is at the root.
 */
export function rootPath(page: Document = document): string {
  const said = page.querySelector('meta[name="sayso-root"]')?.getAttribute("content");
  return said === null || said === undefined || said === "" ? "/" : said;
}

/** The address of something on the server, given without a leading slash. */
export function serverUrl(path: string): string {
  return new URL(path, new URL(rootPath(), window.location.origin)).href;
}
