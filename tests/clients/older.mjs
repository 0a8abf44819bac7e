// The older dialect, in either of the official clients.
import { Thread } from "./thread.mjs";

// A thread as an old hook keeps it: the last question of a run by event, gone if the run failed.
export class LegacyThread extends Thread {
  constructor(client, demo, { mode = "legacy", path = "", ...more } = {}) {
    super(client, demo, { ...more, path: `${path}?interrupts=${mode}` });
  }

  async run(parameters, onEvent) {
    const run = await super.run(parameters, onEvent);
    this.asked = run.events.filter(({ name }) => name === "on_interrupt").map((e) => e.value);
    this.question = run.error ? undefined : this.asked.at(-1);
    return run;
  }

  // What `resolve(payload)` of such a hook sends; `resume` is absent when it is undefined.
  reply(resume, interruptEvent = this.question) {
    return this.run({ forwardedProps: { command: { resume, interruptEvent } } });
  }

  reloaded(path = "") {
    return new LegacyThread(this.client, this.server, { threadId: this.threadId, path });
  }
}
