/** Puts a card at the top of the screen and the focus on it. */
export function turnTo(card: HTMLElement | undefined): void {
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "start" });
}

/** Turns to a card, or one page further when the reader is in the middle of it already. */
export function readNext(card: HTMLElement | undefined): void {
  if (card === undefined) return;
  const scroller = scrollerOf(card);
  const [page, whole] = [scroller.getBoundingClientRect(), card.getBoundingClientRect()];
  const begun = whole.top < page.top + page.height / 3 && whole.bottom > page.bottom;
  if (!begun) turnTo(card);
  else scroller.scrollBy({ top: page.height * 0.7 });
}

function scrollerOf(node: HTMLElement): Element {
  for (let element = node.parentElement; element !== null; element = element.parentElement) {
    const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowY);
    if (scrolls && element.scrollHeight > element.clientHeight) return element;
  }
  return document.documentElement;
}
