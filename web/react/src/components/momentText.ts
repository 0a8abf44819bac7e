/** A time for people, in epoch milliseconds: of today the time alone, else with its day. */
export function momentText(time: number): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { timeStyle: "short" })
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
