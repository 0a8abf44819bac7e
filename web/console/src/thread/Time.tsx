/** When something happened; the whole date on pointing at it. */
export function Time({ at }: { readonly at: string | null }) {
  const time = at === null ? NaN : Date.parse(at);
  if (at === null || Number.isNaN(time)) return <span className="moment-time">–</span>;
  const date = new Date(time);
  return (
    <time className="moment-time" dateTime={at} title={date.toLocaleString()}>
      {date.toLocaleTimeString()}
    </time>
  );
}
