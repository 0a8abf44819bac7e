import type { Interrupt } from "@ag-ui/client";
import { vi } from "vitest";

type Event = Record<string, unknown>;
type Responder = (body: { threadId: string; runId: string; resume?: unknown[] }) => Event[];

/** A server behind `fetch` for one test: what each address answers, and what it was sent. */
export class FakeServer {
  up = true;
  agents: unknown = { items: [{ name: "ops", description: "The demo agent." }] };
  effects: unknown = { effects: [] };
  connect: Responder = () => snapshots();
  /** What it refuses the next run with, without a stream. */
  problem: { readonly status: number; readonly [member: string]: unknown } | null = null;
  /** The token that it takes, if it asks for one. */
  token: string | null = null;
  /** Who is there, as it says. */
  me = { subject: "ann", scope: "default", roles: [] as string[], kind: "person" };
  readonly runs: Responder[] = [];
  readonly asked: string[] = [];
  readonly posted: { path: string; body: { resume?: unknown[]; messages: unknown[] } }[] = [];

  install(): this {
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) => this.#answer(url, init));
    return this;
  }

  async #answer(url: string, init?: RequestInit): Promise<Response> {
    await Promise.resolve();
    if (!this.up) throw new TypeError("Failed to fetch");
    const { pathname } = new URL(url);
    const sent = new Headers(init?.headers).get("authorization");
    if (this.token !== null && sent !== `Bearer ${this.token}`) {
      const problem = { status: 401, code: "unauthenticated", detail: "Nobody was recognised." };
      return new Response(JSON.stringify(problem), { status: 401 });
    }
    if (init?.method !== "POST") return this.#get(pathname);
    const body = JSON.parse(init.body as string) as {
      threadId: string;
      runId: string;
      resume?: unknown[];
      messages: unknown[];
    };
    const look = pathname.endsWith("/connect");
    if (!look) this.posted.push({ path: pathname, body });
    if (!look && this.problem !== null) {
      const { status } = this.problem;
      const headers = { "content-type": "application/problem+json" };
      return new Response(JSON.stringify(this.problem), { status, headers });
    }
    const respond = look ? this.connect : this.runs.shift();
    if (respond === undefined) throw new Error(`No run is scripted for ${pathname}.`);
    const ids = { threadId: body.threadId, runId: body.runId };
    const events = [{ type: "RUN_STARTED", ...ids }, ...respond(body)];
    const text = events.map((item) => {
      const event = item;
      const whole = event.type === "RUN_FINISHED" ? { ...event, ...ids } : event;
      return `data: ${JSON.stringify(whole)}\n\n`;
    });
    return new Response(text.join(""), { headers: { "content-type": "text/event-stream" } });
  }

  #get(pathname: string): Response {
    this.asked.push(pathname);
    if (pathname === "/me") return Response.json(this.me);
    if (pathname === "/agents") return Response.json(this.agents);
    if (pathname === "/demo/effects") return Response.json(this.effects);
    return new Response("{}", { status: 404 });
  }
}

/** A look at a thread: its messages, then how it stands. */
export function snapshots(messages: unknown[] = [], ...interrupts: Interrupt[]): Event[] {
  return [
    { type: "STATE_SNAPSHOT", snapshot: {} },
    { type: "MESSAGES_SNAPSHOT", messages },
    ending(...interrupts),
  ];
}

export function ending(...interrupts: Interrupt[]): Event {
  const outcome = interrupts.length === 0 ? { type: "success" } : { type: "interrupt", interrupts };
  return { type: "RUN_FINISHED", outcome };
}

export function says(id: string, text: string): Event[] {
  return [
    { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text },
    { type: "TEXT_MESSAGE_END", messageId: id },
  ];
}

export const question: Interrupt = { id: "int_1", reason: "confirmation", message: "Go on?" };
