// A provider of OpenID Connect on loopback, for the tests: `node provider.mjs PORT ADDRESS_OF_THE_SERVER`.
// Whoever says a name signs in under it. The first sign-in of a browser counts as an hour old.
import { createServer } from "node:http";

import Provider from "oidc-provider";

const [port, server] = process.argv.slice(2);
const ROLES = { lea: ["lead"], leo: ["lead"], aud: ["auditor"] };
const CLIENT = "sayso";

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: CLIENT,
      client_secret: process.env.OIDC_SECRET,
      redirect_uris: [`${server}/callback`],
      response_types: ["code"],
      grant_types: ["authorization_code"],
      backchannel_logout_uri: `${server}/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub", "roles"], profile: [] },
  conformIdTokenClaims: false,
  cookies: { keys: ["of the tests"] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
  // It would send its logout tokens to no address of this machine.
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  pkce: { required: () => true },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, roles: ROLES[sub] ?? [] }),
  }),
  async loadExistingGrant({ oidc }) {
    const grant = new provider.Grant({ clientId: CLIENT, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid profile");
    await grant.save();
    return grant;
  },
});

const PAGE = `<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1>
<form method="post"><label>Name <input name="name" autofocus></label> <button>Go on</button></form>`;

createServer(async (request, response) => {
  if (!request.url.startsWith("/interaction/")) return provider.callback()(request, response);
  if (request.method === "GET") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    return response.end(PAGE);
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const { prompt } = await provider.interactionDetails(request, response);
  const asked = prompt.reasons.includes("login_prompt");
  const ts = Math.floor(Date.now() / 1000) - (asked ? 0 : 3600);
  const login = { accountId: new URLSearchParams(body).get("name"), ts };
  return provider.interactionFinished(request, response, { login });
}).listen(Number(port), "127.0.0.1");
