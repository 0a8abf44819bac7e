import {
  AbstractAgent,
  HttpAgent,
  enforceOutgoingInput,
  runHttpRequest,
  transformHttpEventStream,
} from "@ag-ui/client";

type AgentOptions = ConstructorParameters<typeof HttpAgent>[0];
type Connected = ReturnType<AbstractAgent["connectAgent"]>;
type ConnectParameters = Parameters<AbstractAgent["connectAgent"]>;

/**
 * An `HttpAgent` that can also ask a Sayso server how a thread stands: `connectAgent()` posts to
 * `<url>/connect` and applies the snapshots it gets, then follows the live run if there is one
 * (design 5). Messages are not sent along, the server has them.
 */
export class SaysoAgent extends HttpAgent {
  constructor(options: AgentOptions) {
    super(options);
    const { fetch } = this;
    this.fetch = async (url, init) => withQuietCancel(await fetch(url, init));
  }

  override connectAgent(...[parameters, subscriber]: ConnectParameters): Connected {
    this.abortController = new AbortController();
    return super.connectAgent(parameters, subscriber);
  }

  protected override connect(input: Parameters<HttpAgent["run"]>[0]): ReturnType<HttpAgent["run"]> {
    const request = () =>
      this.fetch(
        connectUrl(this.url),
        this.requestInit(enforceOutgoingInput({ ...input, messages: [] })),
      );
    return transformHttpEventStream(runHttpRequest(request), this.debugLogger);
  }
}

/** Whether an agent has a way to ask its server how a thread stands. */
export function canConnect(agent: AbstractAgent): boolean {
  return Reflect.get(agent, "connect") !== Reflect.get(AbstractAgent.prototype, "connect");
}

/** `/agents/ops?x=1` becomes `/agents/ops/connect?x=1`. */
function connectUrl(url: string): string {
  const [path = "", query] = url.split("?", 2);
  return `${path.replace(/\/$/, "")}/connect${query === undefined ? "" : `?${query}`}`;
}

/**
 * The client library cancels the reader of every body, also of one whose connection broke, and what
 * that rejects with reaches nobody (ER-12): an unhandled rejection in browsers, the end of a Node
 * process. Reading still fails as it should; only giving up is quiet.
 */
function withQuietCancel(response: Response): Response {
  const { body } = response;
  if (body === null) return response;
  const getReader = () => {
    const reader = body.getReader();
    return {
      read: () => reader.read(),
      cancel: (reason?: unknown) => reader.cancel(reason).catch(() => undefined),
    };
  };
  Object.defineProperty(response, "body", { value: { getReader } });
  return response;
}
