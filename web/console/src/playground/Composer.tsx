import {
  useId,
  useLayoutEffect,
  useRef,
  type KeyboardEvent,
  type ReactNode,
  type SyntheticEvent,
} from "react";

export interface ComposerProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** How many questions are open; the thread takes no message until they are answered. */
  readonly open: number;
  /** Of these, how many this person may answer and has not yet; what they have is not sent. */
  readonly unanswered: number;
  /** Of these, how many only somebody else may answer. */
  readonly others: number;
  readonly running: boolean;
  /** Calls of this page's own tools that wait for the person. */
  readonly calls: number;
  readonly queued: readonly string[];
  /** The way to stop what is going on, when something is. */
  readonly stop: ReactNode;
  readonly onSend: () => void;
  readonly onUnqueue: (index: number) => void;
  /** Cancels what is open and sends the text instead. */
  readonly onSteerAway: () => void;
}

/** Where the person writes: Enter sends, or queues while a run is going on. */
export function Composer(props: ComposerProps) {
  const { text, onText, open, unanswered, others, running, calls, queued, stop } = props;
  const { onSend, onUnqueue, onSteerAway } = props;
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const blocked = open > 0;
  const empty = text.trim() === "";

  useLayoutEffect(() => {
    const node = field.current;
    if (node === null) return;
    node.style.height = "auto";
    node.style.height = `${Math.min(node.scrollHeight, 200)}px`;
  }, [text]);

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (blocked || empty) return;
    onSend();
    // The button is off now, and would take the focus with it.
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    submit(event);
  };

  return (
    <form className="composer" onSubmit={submit} aria-label="Write to the agent">
      {queued.length > 0 && (
        <ul className="queue" aria-label="Waiting to be sent">
          {queued.map((item, index) => (
            <li key={index}>
              <span>{item}</span>
              <button
                type="button"
                className="quiet-button"
                aria-label={`Take back: ${item}`}
                onClick={() => {
                  onUnqueue(index);
                }}
              >
                Take back
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-head">
        <p className="composer-note" id={`${id}-note`} role="status">
          {blocked && waitsFor(open, unanswered, others)}
          {!blocked && running && "The agent is working. Enter queues your message."}
          {!blocked && !running && calls > 0 && "Pick a time above, or send a message to skip it."}
        </p>
        {stop}
      </div>
      <div className="composer-row">
        <label className="sayso-sr" htmlFor={id}>
          Message
        </label>
        <textarea
          id={id}
          ref={field}
          rows={1}
          value={text}
          placeholder={placeholderOf(open, others)}
          aria-describedby={`${id}-note`}
          onChange={({ target }) => {
            onText(target.value);
          }}
          onKeyDown={onKeyDown}
        />
        {blocked && !empty ? (
          <button type="button" className="sayso-button" onClick={onSteerAway}>
            Withdraw and send
          </button>
        ) : (
          <button type="submit" className="sayso-button sayso-primary" disabled={blocked || empty}>
            {running ? "Queue" : "Send"}
          </button>
        )}
      </div>
    </form>
  );
}

function placeholderOf(open: number, others: number): string {
  if (open === 0) return "Ask the agent to do something";
  return others === open ? "Others answer above first" : "Answer above first";
}

function waitsFor(open: number, unanswered: number, others: number): string {
  if (others === open) return "Others have to answer above before you can continue.";
  if (unanswered === 0) return "Send your answers above to continue.";
  if (open === 1) return "Answer the question above to continue.";
  const more = unanswered < open ? "more " : "";
  return `Answer ${unanswered} ${more}question${unanswered === 1 ? "" : "s"} above to continue.`;
}
