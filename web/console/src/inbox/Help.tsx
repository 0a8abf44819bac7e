import { useEffect, useRef } from "react";
import { useShortcutsOn } from "../shortcuts.js";

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ["j", "next question"],
  ["k", "previous question"],
  ["a", "approve, or go to the answer"],
  ["d", "deny"],
  ["e", "edit the arguments, or go to the answer"],
  ["z", "undo an answer that is not sent yet"],
  ["x", "select, to decide several together"],
  ["/", "find"],
  ["Esc", "close what is open"],
  ["?", "show this list"],
];

/** Explains the keys; single keys can be turned off here. */
export function Help({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useShortcutsOn();
  useEffect(() => {
    const node = dialog.current;
    if (node === null || node.open === open) return;
    if (open) node.showModal();
    else node.close();
  }, [open]);
  return (
    <dialog className="help" ref={dialog} aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keyboard shortcuts</h2>
      <dl className="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label className="switch">
        <input
          type="checkbox"
          checked={on}
          onChange={({ target }) => {
            setOn(target.checked);
          }}
        />
        Enable keyboard shortcuts
      </label>
      <button
        type="button"
        className="sayso-button sayso-primary"
        onClick={() => {
          dialog.current?.close();
        }}
      >
        Close
      </button>
    </dialog>
  );
}
