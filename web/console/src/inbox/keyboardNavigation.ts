/** The acts of keys on a question. */
export type Act = "approve" | "deny" | "edit";

/**
 * Where a step leads in a list: to the neighbour of the one at `at`; when that is gone from the
 * list (-1), to what has taken its `place`. Null when there is nothing in that direction.
 */
export function stepTo(
  ids: readonly string[],
  position: number,
  place: number,
  by: 1 | -1,
): string | null {
  if (position >= 0) return ids[position + by] ?? null;
  const index = by === 1 ? Math.min(place, ids.length - 1) : place - 1;
  return ids[Math.max(0, index)] ?? null;
}

/** True while the card on the page does not know yet whether all of it was on the screen. */
export function isBeingRead(page: HTMLElement | null): boolean {
  const button = ".detail-card .sayso-body:not([hidden]) [data-reading='unknown']";
  return page !== null && page.querySelector(button) !== null;
}

/**
 * Does to the question on the page what its own button does. One without such a button is answered
 * in its fields, so the first of them gets the focus.
 */
export function press(page: HTMLElement | null, act: Act): void {
  const card = page?.querySelector(".detail-card .sayso-card") ?? null;
  const body = card?.querySelector(".sayso-body:not([hidden])") ?? null;
  if (body === null) return;
  const button = body.querySelector<HTMLElement>(`[data-act="${act}"]`);
  if (button !== null) {
    if (button.closest("[hidden]") === null) button.click();
    return;
  }
  if (act !== "deny") body.querySelector<HTMLElement>("textarea, input, select, button")?.focus();
}
