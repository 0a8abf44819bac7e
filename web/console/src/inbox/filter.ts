import { expiryOf, type InboxItem } from "@sayso/react/core";

/** Which questions are listed. An empty text means all. */
export interface Filter {
  readonly agent: string;
  readonly reason: string;
  /** At least this old, in minutes. */
  readonly age: string;
  /** `60`, `1440`: it runs out within so many minutes; `never`: it has no end; `over`: too late. */
  readonly due: string;
  readonly text: string;
}

const KEYS = ["agent", "reason", "age", "due", "text"] as const;
const MINUTE_MS = 60_000;

/** The filter that an address holds. */
export function readFilter(query: URLSearchParams): Filter {
  const [agent = "", reason = "", age = "", due = "", text = ""] = KEYS.map(
    (key) => query.get(key) ?? "",
  );
  return { agent, reason, age, due, text };
}

/** The address of a filter; what lists all is left out. */
export function writeFilter(filter: Filter): string {
  const query = new URLSearchParams();
  for (const key of KEYS) if (filter[key] !== "") query.set(key, filter[key]);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** True if anything is left out. */
export function isFiltering(filter: Filter): boolean {
  return KEYS.some((key) => filter[key] !== "");
}

/** The questions that a filter lets through, in their order. */
export function applyFilter(
  items: readonly InboxItem[],
  filter: Filter,
  now: number,
): readonly InboxItem[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter((item) => {
    const { interrupt } = item;
    if (filter.agent !== "" && item.agent !== filter.agent) return false;
    if (filter.reason !== "" && interrupt.reason !== filter.reason) return false;
    if (filter.age !== "" && now - item.createdAt < Number(filter.age) * MINUTE_MS) return false;
    if (!isDue(item, filter.due, now)) return false;
    if (words.length === 0) return true;
    const all = [interrupt.message, item.agent, item.threadId, interrupt.id, item.assignedTo]
      .join(" ")
      .toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

function isDue(item: InboxItem, due: string, now: number): boolean {
  if (due === "") return true;
  const until = expiryOf(item.interrupt);
  if (due === "never") return until === null;
  if (until === null) return false;
  const over = item.lapsed || until <= now;
  return due === "over" ? over : !over && until - now <= Number(due) * MINUTE_MS;
}

/** The different values of something, sorted. */
export function kinds(
  items: readonly InboxItem[],
  of: (item: InboxItem) => string,
): readonly string[] {
  return [...new Set(items.map(of))].filter((text) => text !== "").sort();
}
