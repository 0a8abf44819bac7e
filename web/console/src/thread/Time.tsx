/** When something happened, with its day unless that is today or was just said (`day`). */
export function Time({ at, day = true }: { readonly at: string | null; readonly day?: boolean }) {
  const time = at === null ? NaN : Date.parse(at);
  if (at === null || Number.isNaN(time)) return <span className="moment-time">–</span>;
  const date = new Date(time);
  return (
    <time className="moment-time" dateTime={at} title={date.toLocaleString()}>
      {day && !isToday(date) && <span className="moment-day">{dayOf(date)} </span>}
      {date.toLocaleTimeString()}
    </time>
  );
}

/** True if two moments are of one day, here. */
export function sameDay(text: string | null, other: string | null): boolean {
  if (text === null || other === null) return false;
  return new Date(text).toDateString() === new Date(other).toDateString();
}

function isToday(date: Date): boolean {
  return date.toDateString() === new Date().toDateString();
}

function dayOf(date: Date): string {
  const year = date.getFullYear() !== new Date().getFullYear();
  return date.toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    ...(year && { year: "numeric" }),
  });
}
