import { useEffect, useRef, useState } from "react";
import { stopThread } from "./thread/api.js";

/** Ends what a thread is doing, asked for twice: open questions are cancelled with it. */
export function StopButton(props: {
  readonly threadId: string;
  readonly open: number;
  readonly onStopped: () => void;
}) {
  const { threadId, open, onStopped } = props;
  const [step, setStep] = useState<"rest" | "sure" | "stopping">("rest");
  const [failure, setFailure] = useState<string | null>(null);
  const first = useRef<HTMLButtonElement>(null);
  const sure = useRef<HTMLButtonElement>(null);
  const kept = useRef(false);
  useEffect(() => {
    if (step === "sure") sure.current?.focus();
    if (step === "rest" && kept.current) first.current?.focus();
    kept.current = false;
  }, [step]);

  const keep = () => {
    kept.current = true;
    setStep("rest");
  };

  const stop = async () => {
    setStep("stopping");
    setFailure(null);
    try {
      await stopThread(threadId);
      // The button goes with what it stopped: the focus moves on to the view.
      document.getElementById("main")?.focus({ preventScroll: true });
      onStopped();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      kept.current = true;
    }
    setStep("rest");
  };
  return (
    <span className="stop">
      <span role="alert" className="stop-failure">
        {failure}
      </span>
      {step === "rest" ? (
        <button
          ref={first}
          type="button"
          className="sayso-button sayso-small"
          onClick={() => {
            setStep("sure");
          }}
        >
          Stop
        </button>
      ) : (
        <>
          <button
            ref={sure}
            type="button"
            className="sayso-button sayso-small sayso-no"
            disabled={step === "stopping"}
            onClick={() => void stop()}
            onKeyDown={(event) => {
              if (event.key === "Escape") keep();
            }}
          >
            {open > 0 ? `Stop and withdraw ${open}` : "Stop now"}
          </button>
          <button
            type="button"
            className="sayso-button sayso-small"
            disabled={step === "stopping"}
            onClick={keep}
          >
            Keep running
          </button>
        </>
      )}
    </span>
  );
}
