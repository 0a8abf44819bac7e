import type { Interrupt } from "@ag-ui/client";
import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { InterruptGroup } from "../../src/components/index.js";
import { Conversation, InterruptController, useConversation } from "../../src/index.js";
import { validateAnswer } from "../../src/core/index.js";
import { interrupted, run, type ScriptedServer, snapshot, type WireEvent } from "../wire.js";

function Chat({ conversation }: { readonly conversation: Conversation }) {
  const { messages } = useConversation(conversation);
  const { batches } = conversation.controller.getSnapshot();
  return (
    <main>
      {batches.map((batch) => (
        <InterruptGroup
          key={batch.id}
          controller={conversation.controller}
          batch={batch}
          messages={messages}
        />
      ))}
    </main>
  );
}

/** Renders a thread whose next look gives these events. */
export async function show(server: ScriptedServer, ...events: WireEvent[]) {
  server.onConnect(run(...events));
  const controller = new InterruptController(server.agent(), { validate: validateAnswer });
  const conversation = new Conversation(controller);
  const view = render(
    <StrictMode>
      <Chat conversation={conversation} />
    </StrictMode>,
  );
  await screen.findAllByRole("region");
  return { controller, view };
}

export const asked = (...interrupts: Interrupt[]) => [...snapshot(), interrupted(...interrupts)];
export const button = (name: string | RegExp) => screen.getByRole("button", { name });
export const click = (name: string | RegExp) => userEvent.click(button(name));
export const sent = (server: ScriptedServer) => server.runs.at(-1)?.body.resume;
