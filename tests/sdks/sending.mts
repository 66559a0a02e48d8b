// A program that sends events by the TypeScript client's buffer. Each line of its input says up to which number
// to add them; after the last line it ends without `close`, once all are sent.

import { createInterface } from "node:readline";

import { Client, EventBuffer } from "../../sdks/typescript/src/index.ts";

const { ADDRESS = "", KEY = "" } = process.env;
const buffer = new EventBuffer(new Client(ADDRESS, KEY), { batch: 50, wait: 10, rest: 200 });
let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  for (; number < Number(line); number += 1) {
    buffer.add({
      event_name: "purchase", email: "anna@example.com", order_id: `typescript-${number}`,
      event_time: "2026-11-01T12:00:00Z",
    });
  }
}
