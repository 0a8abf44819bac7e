// A thread as one of the two official clients keeps it, with everything it said about it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { buildResumeArray as build0, HttpAgent as Agent0 } from "ag-ui-client-0";
import { buildResumeArray as build1, HttpAgent as Agent1 } from "ag-ui-client-1";

import { within } from "./demo.mjs";

// CopilotKit 1.74 stands on 0.0.59; 1.0.0 is the client of the protocol that we speak.
export const CLIENTS = [
  { version: "1.0.0", Agent: Agent1, buildResumeArray: build1 },
  { version: "0.0.59", Agent: Agent0, buildResumeArray: build0 },
];

export const approve = (more = {}) => resolved({ approved: true, ...more });
export const deny = (reason) => resolved({ approved: false, ...(reason && { reason }) });
export const cancel = () => ({ status: "cancelled" });
export const resolved = (payload) => ({ status: "resolved", payload });

// Clients print warnings about a stream that is not to their liking. Every run is asked for them.
const warnings = [];
console.warn = (...words) => warnings.push(words.map(String).join(" "));
console.error = console.warn;

export class Thread {
  constructor(client, server, { threadId = randomUUID(), path = "" } = {}) {
    this.client = client;
    this.server = server;
    this.threadId = threadId;
    this.agent = new client.Agent({ url: server.agentUrl + path, threadId });
  }

  // The same thread in a client that was just loaded and knows nothing.
  reloaded(path = "") {
    return new Thread(this.client, this.server, { threadId: this.threadId, path });
  }

  get pending() {
    return this.agent.pendingInterrupts;
  }

  get messages() {
    return this.agent.messages;
  }

  get texts() {
    return this.messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  }

  say(content, parameters, onEvent) {
    this.agent.addMessage({ id: randomUUID(), role: "user", content });
    return this.run(parameters, onEvent);
  }

  // One answer for each pending interrupt, in their order.
  resume(...answers) {
    const byId = Object.fromEntries(this.pending.map(({ id }, index) => [id, answers[index]]));
    return this.run({ resume: this.client.buildResumeArray(this.pending, byId) });
  }

  // Runs, and says what came: the events, and the error of the run if it failed.
  async run(parameters = {}, onEvent = () => {}) {
    const events = [];
    const subscriber = {
      onEvent: ({ event }) => {
        events.push(event);
        onEvent(event);
      },
    };
    await within(
      this.agent.runAgent(parameters, subscriber),
      () => `the run did not end: ${JSON.stringify(events.map(({ type }) => type))}`,
    );
    assert.deepEqual(warnings.splice(0), [], "the client had something to say");
    const error = events.find(({ type }) => type === "RUN_ERROR");
    return { events, types: events.map(({ type }) => type), error, last: events.at(-1) };
  }

  // What the server shows of the thread to somebody who loads it now.
  async stored() {
    const fresh = this.reloaded("/connect");
    await fresh.run();
    return fresh;
  }

  // The client's messages are the server's, and none is there twice.
  async assertInStep() {
    const ids = this.messages.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, "a message is there twice");
    const calls = this.messages.flatMap(({ toolCallId }) => toolCallId ?? []);
    assert.equal(new Set(calls).size, calls.length, "a call has two results");
    const shown = await this.stored();
    assert.deepEqual(plain(this.messages), plain(shown.messages));
    assert.deepEqual(this.agent.state, shown.agent.state);
    assert.deepEqual(plain(this.pending), plain(shown.pending));
  }

  effects() {
    return this.server.effects(this.threadId);
  }
}

const plain = (value) => JSON.parse(JSON.stringify(value));
