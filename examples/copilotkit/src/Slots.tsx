interface Props {
  subject: string | undefined;
  slots: string[] | undefined;
  /** There while a pick is waited for. */
  respond: ((picked: { slot: string }) => unknown) | undefined;
}

export function Slots({ subject, slots, respond }: Props) {
  return (
    <div className="card" role="group" aria-label="Pick a time">
      <p>{subject}</p>
      {respond ? (
        <div className="row">
          {(slots ?? []).map((slot) => (
            <button key={slot} onClick={() => void respond({ slot })}>
              {slot}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
