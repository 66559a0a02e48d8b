// The official TypeScript client: prints where the person has to go, reads where the browser was
// led, and calls a tool.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, redirectUrl, clientMetadataUrl] = process.argv.slice(2);
const kept = {};
const provider = {
  redirectUrl,
  clientMetadataUrl,
  clientMetadata: {
    client_name: "TypeScript client",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "state-of-typescript",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (location) => console.log(location.href),
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return client;
};

try {
  await connect();
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  const answer = new URL(line).searchParams;
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await transport.finishAuth(answer.get("code"));
  break;
}
lines.close();
const client = await connect();
const result = await client.callTool({ name: "get_space", arguments: {} });
console.log(JSON.stringify({ id: kept.client?.client_id, space: result.structuredContent }));
await client.close();
process.exit(0);
