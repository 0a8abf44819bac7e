// Loads a thread from the server, which keeps it: messages, state, and what is still asked.
import { ExportedMessageRepository, generateId } from "@assistant-ui/react";
import type { ThreadHistoryAdapter } from "@assistant-ui/react";
import { fromAgUiMessages } from "@assistant-ui/react-ag-ui";
import type { AgUiInterrupt, AgUiMessage } from "@assistant-ui/react-ag-ui";

import { agentUrl } from "./settings";

type Loaded = Awaited<ReturnType<ThreadHistoryAdapter["load"]>>;

interface Frame {
  type: string;
  messages?: AgUiMessage[];
  snapshot?: NonNullable<Loaded["state"]>;
  delta?: string;
  message?: string;
  outcome?: { interrupts?: AgUiInterrupt[] };
}

// How long the end of an idle thread's stream may take behind its snapshots. Later it only counts as
// that of a run which was going on, and the thread is loaded once more.
const PROMPT_MS = 500;

// `onFollowed` is called at the end of a run that was going on when the thread was loaded: then the
// thread is to be loaded again, as it stands.
export function historyOf(threadId: string, onFollowed: () => void): ThreadHistoryAdapter {
  let rest: AsyncGenerator<Frame> | undefined;
  return {
    async load(): Promise<Loaded> {
      const frames = connect(threadId);
      let messages: AgUiMessage[] = [];
      let state: Pick<Loaded, "state"> = {};
      for (;;) {
        const coming = frames.next();
        const next = messages.length > 0 ? await promptly(coming) : await coming;
        if (next?.done) throw new Error("The thread could not be loaded: the connection was lost.");
        switch (next?.value.type) {
          case "RUN_STARTED":
            break;
          case "MESSAGES_SNAPSHOT":
            messages = next.value.messages ?? [];
            break;
          case "STATE_SNAPSHOT":
            state = { state: next.value.snapshot ?? null };
            break;
          case "RUN_ERROR":
            throw new Error(next.value.message);
          case "RUN_FINISHED": {
            const asked = withInterrupts(messages, next.value.outcome?.interrupts ?? []);
            return { ...repository(asked), ...state };
          }
          default:
            rest = following(coming, frames);
            return { ...repository(messages), ...state, unstable_resume: true };
        }
      }
    },

    // The run that goes on: its words as they come, and at its end the whole thread.
    async *resume() {
      let text = "";
      for await (const { type, delta } of rest ?? []) {
        if (type === "TEXT_MESSAGE_CONTENT") text += delta;
        else if (type === "TEXT_MESSAGE_END") text += "\n\n";
        yield { content: [{ type: "text", text }] };
      }
      onFollowed();
    },

    append: async () => undefined, // the server has it
  };
}

const repository = (messages: AgUiMessage[]) =>
  ExportedMessageRepository.fromArray(fromAgUiMessages(messages));

// assistant-ui keeps what is asked with the last message of the assistant, and finds it there again.
function withInterrupts(messages: AgUiMessage[], interrupts: AgUiInterrupt[]): AgUiMessage[] {
  if (interrupts.length === 0) return messages;
  const said = messages.findLastIndex(({ role }) => role === "assistant");
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const silent: AgUiMessage = { id: generateId(), role: "assistant", content: "" };
  const all = said > asked ? messages : [...messages, silent];
  return all.map((one, at) =>
    at === (said > asked ? said : all.length - 1)
      ? Object.assign({}, one, { metadata: { custom: { agui: { interrupts } } } })
      : one,
  );
}

async function* connect(threadId: string): AsyncGenerator<Frame> {
  const response = await fetch(agentUrl("/connect"), {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({
      threadId,
      runId: generateId(),
      messages: [],
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
    }),
  });
  if (!response.ok || response.body === null) {
    throw new Error(`The thread could not be loaded: ${response.status}.`);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const events = (rest + next.value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      if (event.startsWith("data: ")) yield JSON.parse(event.slice("data: ".length)) as Frame;
    }
  }
}

async function* following(
  coming: Promise<IteratorResult<Frame>>,
  rest: AsyncGenerator<Frame>,
): AsyncGenerator<Frame> {
  for (let next = await coming; !next.done; next = await rest.next()) yield next.value;
}

const promptly = <T>(coming: Promise<T>): Promise<T | undefined> =>
  Promise.race([coming, new Promise<undefined>((done) => setTimeout(done, PROMPT_MS))]);
