// Calls operations of the TypeScript client as lines of JSON tell it: [name, ...arguments] in, the answer out.

import { createInterface } from "node:readline";
import * as sdk from "../../sdks/typescript/src/index.ts";

const { URL: url = "", KEY = "" } = process.env;
const client = new sdk.Client(url, KEY, { sleep: async () => {}, retries: 29, timeout: 60_000 });
const operations = client as unknown as Record<string, (...values: unknown[]) => Promise<unknown>>;

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...values] = JSON.parse(line) as [string, ...unknown[]];
  let told: unknown;
  try {
    if (/^create\w+Import$/.test(name)) values[0] = new Blob([values[0] as string]);
    told = { answer: await operations[name]?.call(client, ...values) };
  } catch (error) {
    told = { failure: String(error) };
  }
  console.log(JSON.stringify(told));
}
