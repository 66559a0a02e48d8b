// Calls tools with both generations of the TypeScript SDK, in both eras of the protocol, and
// prints what came back: node calling.mjs <url> <token>
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const info = { name: "headwater-tests", version: "1" };

async function ask(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const space = await client.callTool({ name: "get_space", arguments: {} });
  const report = await client.callTool({ name: "query_report", arguments: { period: "2026-05" } });
  const wrong = await client.callTool({ name: "get_event", arguments: { event_id: 999999999999 } });
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: "channel_review", arguments: {} });
  await client.close();
  return {
    tools: tools.length,
    space: space.structuredContent.id,
    columns: report.structuredContent.columns,
    wrong: wrong.isError === true,
    resource: JSON.parse(contents[0].text).id,
    prompts: prompts.length,
    role: prompt.messages[0].role,
  };
}

const modern = (mode) => new Client(info, { versionNegotiation: { mode } });
const asked = {
  old: () => ask(new OldClient(info), new OldTransport(new URL(url), { requestInit })),
  legacy: () =>
    ask(modern("legacy"), new StreamableHTTPClientTransport(new URL(url), { requestInit })),
  auto: () => ask(modern("auto"), new StreamableHTTPClientTransport(new URL(url), { requestInit })),
  pinned: () =>
    ask(
      modern({ pin: "2026-07-28" }),
      new StreamableHTTPClientTransport(new URL(url), { requestInit }),
    ),
};

const told = {};
for (const [name, run] of Object.entries(asked)) {
  told[name] = await run().catch((error) => ({ failed: String(error) }));
}
console.log(JSON.stringify(told));
