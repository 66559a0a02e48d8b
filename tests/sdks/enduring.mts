// What the TypeScript client endures; prints what came of it as JSON. It ends without `close`: the buffer's
// events must arrive all the same.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import * as sdk from "../../sdks/typescript/src/index.ts";

const { DIRECT = "", KEY = "" } = process.env;
const event: sdk.TrackPayload = { event_name: "purchase", email: "anna@example.com", amount: 89.5 };
const told: Record<string, unknown> = {};
const client = new sdk.Client(DIRECT, KEY);

function nameOf(act: () => unknown): string {
  try {
    act();
    return "";
  } catch (error) {
    return (error as Error).name;
  }
}

async function timed(asked: Promise<unknown>): Promise<{ result: unknown; milliseconds: number }> {
  const started = Date.now();
  const result = await asked.catch((error: Error) => error.name);
  return { result, milliseconds: Date.now() - started };
}

// A key from a file with its line break, a variable that is not set, an address without a scheme, and one
// with the API's path.
told.addresses = [
  nameOf(() => new sdk.Client(DIRECT, `${KEY}\n`)), nameOf(() => new sdk.Client(DIRECT, "")),
  nameOf(() => new sdk.Client(DIRECT, process.env.NOT_SET as string)),
  nameOf(() => new sdk.Client("hw.example", KEY)),
  nameOf(() => new sdk.Client(`${DIRECT}/public-api/v1`, KEY)),
];

// Events that JSON can't hold, an event that is changed after it was added, and callbacks that fail.
const circular: Record<string, unknown> = { ...event };
circular.itself = circular;
const rejected: unknown[] = [];
{
  await using buffer = new sdk.EventBuffer(client, {
    wait: 1,
    onRejection: (each) => {
      rejected.push(each.order_id);
      if (rejected.length === 1) throw new Error("planted");
      return Promise.reject(new Error("planted"));
    },
  });
  told.unwritable = [circular, { ...event, amount: 1n }].map((each) =>
    nameOf(() => buffer.add(each as unknown as sdk.TrackPayload)),
  );
  for (const order_id of ["wrong-1", "wrong-2"]) {
    buffer.add({ ...event, order_id, amount: "x" } as unknown as sdk.TrackPayload);
  }
  const changed = { ...event, order_id: "as-added" };
  buffer.add(changed);
  changed.order_id = "changed-later";
}
told.rejected = rejected;

// A service that takes connections and never answers, and one that is gone.
const hanging = createServer(() => {});
await new Promise<void>((resolve) => void hanging.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
const agents: unknown[] = [];
hanging.on("request", (request) => agents.push(request.headers["user-agent"]));
told.hanging = await timed(new sdk.Client(address, KEY, { timeout: 300 }).track(event));
const stuck = new sdk.EventBuffer(new sdk.Client(address, KEY), { wait: 1 });
stuck.add(event);
told.closed = await timed(stuck.close(300));
told.full = nameOf(() => stuck.add(event));
told.agents = [...new Set(agents)];
hanging.closeAllConnections();
await new Promise((resolve) => hanging.close(resolve));
told.gone = await timed(new sdk.Client(address, KEY, { sleep: async () => {} }).track(event));

// A service that comes back while `close` waits.
let attempts = 0;
const returning = new sdk.Client(DIRECT, KEY, {
  retries: 0,
  fetch: async (url, request) => {
    attempts += 1;
    if (attempts < 4) throw new TypeError("planted");
    return fetch(url, request);
  },
});
const late = new sdk.EventBuffer(returning);
late.add({ ...event, order_id: "late" });
told.late = await late.close();

// A service that asks for more time than there is.
let asked = 0;
const limiting = new sdk.Client(DIRECT, KEY, {
  fetch: async () => {
    asked += 1;
    return new Response("{}", { status: 429, headers: { "Retry-After": "3600" } });
  },
});
const limited = new sdk.EventBuffer(limiting, { wait: 1 });
limited.add(event);
told.limited = [await limited.close(1500), asked];

const kept: boolean[] = [];
const worker = new sdk.Client(DIRECT, KEY, {
  keepalive: true,
  fetch: async (url, request) => {
    kept.push(request.keepalive);
    return fetch(url, request);
  },
});
await worker.track({ ...event, order_id: "kept-alive" });
await worker.createEvents({ events: Array(1000).fill(event) }); // larger than runtimes keep alive
told.kept = kept;
console.log(JSON.stringify(told));

const left = new sdk.EventBuffer(client);
for (let number = 0; number < 40; number += 1) left.add({ ...event, order_id: `left-${number}` });
