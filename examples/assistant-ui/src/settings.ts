// Where the Sayso server is. A page of your own has constants here; this one reads them from its
// address, so that it can be tried against any:
//   ?server=http://localhost:8000   another server than the one behind this page's own address
//   &own                            assistant-ui's own Approve and Deny, on the call itself
//   &plain                          without this page's own care: no new runtime after a failure

const query = new URLSearchParams(location.search);

export const settings = {
  server: query.get("server") ?? location.origin,
  own: query.has("own"),
  plain: query.has("plain"),
};

export const AGENT = "ops";

export const agentUrl = (action = ""): string =>
  `${settings.server}/agents/${AGENT}${action}?client=assistant-ui`;

// The thread is in the address, so that a reload, a bookmark and a second tab are on the same one.
export const threadOf = (address: Location): string => address.hash.slice(1);

export function openThread(id: string = crypto.randomUUID()): void {
  location.hash = id;
}

// assistant-ui's stop only drops the connection, and the run goes on; this ends it.
export const stopThread = (id: string): Promise<Response> =>
  fetch(`${settings.server}/threads/${encodeURIComponent(id)}/stop`, { method: "POST" });
