// An agent that CopilotKit talks to directly, without any runtime: `selfManagedAgents={{ ops }}`.
// Beside running it can load a thread, which CopilotKit asks for when the chat has a `threadId`.
// `url` is that of the agent, or `…/copilotkit/agent/ops/run`, where a refused answer leaves its card.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import type { RunAgentInput } from "@ag-ui/client";

export class SaysoAgent extends HttpAgent {
  protected override connect(input: RunAgentInput) {
    const request = () => fetch(this.connectUrl, this.requestInit(input));
    return transformHttpEventStream(runHttpRequest(request));
  }

  private get connectUrl(): string {
    const url = new URL(this.url, location.href);
    url.pathname = url.pathname.replace(/(\/run)?$/, "/connect");
    return url.href;
  }
}
