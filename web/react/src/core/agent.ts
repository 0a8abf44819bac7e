import {
  AbstractAgent,
  EventType,
  HttpAgent,
  enforceOutgoingInput,
  runHttpRequest,
  transformHttpEventStream,
  type AgentSubscriber,
  type BaseEvent,
  type Message,
  type MessagesSnapshotEvent,
} from "@ag-ui/client";
import { Digits } from "./digits.js";
import { asRecord, equalJson, parseJson, writeJson } from "./json.js";
import { Bodies } from "./silence.js";

type AgentOptions = ConstructorParameters<typeof HttpAgent>[0];
type Connected = ReturnType<AbstractAgent["connectAgent"]>;
type ConnectParameters = Parameters<AbstractAgent["connectAgent"]>;
type Input = Parameters<HttpAgent["run"]>[0];
type Events = ReturnType<HttpAgent["run"]>;
type Apply = Parameters<HttpAgent["apply"]>;

/** The bodies that one `fetch` has open, and what they said; a clone of an agent shares all. */
const BODIES = new WeakMap<HttpAgent["fetch"], Bodies>();
const DIGITS = new WeakMap<HttpAgent["fetch"], Digits>();

/**
 * An `HttpAgent` for a Sayso server. `connectAgent()` asks how a thread stands: it posts to
 * `<url>/connect` and applies the snapshots it gets, then follows the live run if there is one
 * (design 5). A body that brings nothing for 45 s counts as a broken connection. Of the messages
 * those are sent that the server has not shown itself, so a long thread is not carried there and
 * back with every request.
 */
export class SaysoAgent extends HttpAgent {
  /** The messages that the server is known to have, exactly; null while that is not known. */
  private shown: readonly Message[] | null = null;
  private shownBefore: readonly Message[] | null = null;

  constructor(options: AgentOptions) {
    super(options);
    const { fetch } = this;
    const [bodies, digits] = [new Bodies(), new Digits()];
    this.fetch = async (url, init) => bodies.watch(await fetch(url, init), digits.body());
    BODIES.set(this.fetch, bodies);
    DIGITS.set(this.fetch, digits);
  }

  /**
   * The state with all digits of its numbers: a whole number that a double does not hold is a
   * `bigint`, where `state` has it rounded.
   */
  get exactState(): unknown {
    const state: unknown = this.state;
    return this.digits?.state(this.threadId, state) ?? state;
  }

  /** A message of this thread with all digits in what it shows as an activity; itself without. */
  exactly(message: Message): Message {
    if (message.role !== "activity") return message;
    const content: unknown = this.digits?.activity(this.threadId, message.id, message.content);
    if (content === undefined || content === message.content) return message;
    return { ...message, content: content as typeof message.content };
  }

  private get digits(): Digits | undefined {
    return DIGITS.get(this.fetch);
  }

  override run(input: Input): Events {
    const messages = unsaid(input.messages, this.shown);
    this.forget();
    return super.run({ ...input, messages });
  }

  override connectAgent(...[parameters, subscriber]: ConnectParameters): Connected {
    this.abortController = new AbortController();
    return super.connectAgent(parameters, subscriber);
  }

  /** Breaks off what has been silent for so long (ms), as if its connection had broken. */
  breakOff(silentMs: number): void {
    BODIES.get(this.fetch)?.breakOff(silentMs);
  }

  /** The state goes back as it came, with all digits. */
  protected override requestInit(input: Input): RequestInit {
    const init = super.requestInit(input);
    const state: unknown = this.digits?.state(input.threadId, input.state) ?? input.state;
    if (state === input.state) return init;
    return { ...init, body: writeJson({ ...asRecord(parseJson(init.body as string)), state }) };
  }

  protected override connect(input: Input): Events {
    this.forget();
    const request = () =>
      this.fetch(
        connectUrl(this.url),
        this.requestInit(enforceOutgoingInput({ ...input, messages: [] })),
      );
    return transformHttpEventStream(runHttpRequest(request), this.debugLogger);
  }

  protected override apply(...[input, events, subscribers]: Apply): ReturnType<HttpAgent["apply"]> {
    const onEvent: AgentSubscriber["onEvent"] = ({ event }) => {
      this.note(event);
    };
    return super.apply(input, events, [{ onEvent }, ...subscribers]);
  }

  private forget(): void {
    this.shownBefore = this.shown ?? null;
    this.shown = null;
  }

  /** A snapshot is what the server has, until something is said after it. */
  private note(event: BaseEvent): void {
    if (event.type === EventType.MESSAGES_SNAPSHOT) {
      const { messages } = event as MessagesSnapshotEvent;
      this.shown = messages.some(isRefused) ? null : messages;
    } else if (isRefused(event)) this.shown = this.shownBefore;
    else if (SAYING.test(event.type)) this.shown = null;
  }
}

/** Events that make messages or add to them. */
const SAYING = /^(TEXT_MESSAGE|TOOL_CALL|REASONING|THINKING)_/;

/** True if this tells of a refused request: it shows what was sent, though the server took nothing. */
function isRefused({ metadata }: { readonly metadata?: unknown }): boolean {
  return asRecord(asRecord(metadata)?.sayso)?.refused === true;
}

/**
 * Those of these messages that the server lacks. All of them when something it showed is missing
 * or was changed: a list that names stored messages is the history from then on (design 4).
 */
function unsaid(
  messages: readonly Message[],
  shown: readonly Message[] | null | undefined,
): Message[] {
  if (shown === null || shown === undefined) return [...messages];
  const held = new Map(messages.map((message) => [message.id, message]));
  const whole = shown.every((message) => {
    const mine = held.get(message.id);
    if (message.role === "activity") return true;
    return mine !== undefined && equalJson(contentOf(mine), contentOf(message));
  });
  if (!whole) return [...messages];
  const stored = new Set(shown.map((message) => message.id));
  return messages.filter((message) => !stored.has(message.id));
}

function contentOf(message: Message): unknown {
  return "content" in message ? message.content : undefined;
}

/** True if an agent has a way to ask its server how a thread stands. */
export function canConnect(agent: AbstractAgent): boolean {
  return Reflect.get(agent, "connect") !== Reflect.get(AbstractAgent.prototype, "connect");
}

/** `/agents/ops?x=1` becomes `/agents/ops/connect?x=1`. */
function connectUrl(url: string): string {
  const [path = "", query] = url.split("?", 2);
  return `${path.replace(/\/$/, "")}/connect${query === undefined ? "" : `?${query}`}`;
}
