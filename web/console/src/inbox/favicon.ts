const PLAIN = "M4 3v14M16 3v14";

/** Shows how many questions are open in the tab's icon. */
export function showCount(open: number, page: Document = document): void {
  const link = page.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  link.dataset.plain ??= link.href;
  link.href = open === 0 ? link.dataset.plain : drawn(open);
}

function drawn(open: number): string {
  const text = open > 99 ? "99+" : String(open);
  const size = text.length === 1 ? 15 : text.length === 2 ? 12 : 9;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">` +
    `<path d="${PLAIN}" stroke="#0c6a50" stroke-width="2" stroke-linecap="round"/>` +
    `<rect x="1" y="2" width="18" height="16" rx="5" fill="#0c6a50"/>` +
    `<text x="10" y="${10 + size * 0.36}" font-family="sans-serif" font-weight="bold" ` +
    `font-size="${size}" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
