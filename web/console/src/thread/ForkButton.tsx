import { useNavigate } from "react-router";
import { textOf, useRequest } from "../useRequest.js";
import { ARRIVED, threadPath } from "./path.js";
import { forkThread } from "./repairs.js";

/** Copies a thread as it stood at a question, and goes to the copy, where it is open. */
export function ForkButton(props: {
  readonly agent: string;
  readonly threadId: string;
  readonly interruptId: string;
}) {
  const { agent, threadId, interruptId } = props;
  const navigate = useNavigate();
  const { busy, failure, attempt } = useRequest();
  const fork = async () => {
    const made = await forkThread(threadId, interruptId);
    await navigate(threadPath(agent, made), { state: ARRIVED });
  };
  return (
    <span className="fork">
      <button
        type="button"
        className="quiet-button"
        disabled={busy}
        onClick={() => void attempt(fork)}
      >
        Fork from this question
      </button>
      <span role="alert" className="repair-failure">
        {failure !== null && textOf(failure)}
      </span>
    </span>
  );
}
