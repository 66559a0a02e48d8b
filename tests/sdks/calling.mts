// What a program does with the TypeScript client; prints what came of it as JSON. Addresses and the key
// come from the environment.

import * as sdk from "../../sdks/typescript/src/index.ts";

const { DIRECT = "", CUT = "", KEY = "", OPERATIONS = "[]", HALVES = "[]", STRANGERS = "[]" } = process.env;
const year = { start_date: "2026-01-01 00:00:00", end_date: "2027-12-31 23:59:59" };
const event: sdk.TrackPayload = { event_name: "purchase", email: "anna@example.com", amount: 89.5 };
const waits: number[] = [];
const sleep = async (milliseconds: number) => void waits.push(milliseconds);
const direct = new sdk.Client(DIRECT, KEY, { sleep, retries: 5 });
const cut = new sdk.Client(CUT, KEY, { sleep, retries: 5 });
const told: Record<string, unknown> = {};

async function failure(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    const { name, status, errors } = error as sdk.ApiError;
    return { name, status, errors };
  }
}

told.track = await direct.track(event);
const wrong = { ...event, amount: "x" } as unknown as sdk.TrackPayload;
told.refused = await failure(direct.track(wrong));
told.missing = await failure(direct.getCompany(999_999_999));
told.many = [];
for await (const result of direct.trackMany([...Array(999).fill(event), wrong, event])) {
  if (result.status === "invalid") (told.many as unknown[]).push(result);
}

let queued = 0;
for await (const result of direct.trackMany(Array(1000).fill({ ...event, profile_field_1: "x".repeat(10_000) }))) {
  if (result.status === "queued" && result.index === queued) queued += 1;
}
told.queued = queued;
const yes = { ...year, include_all_emails: true } as unknown as Parameters<typeof direct.listContacts>[0];
told.yes = Object.keys((await direct.listContacts(yes)).data[0] ?? {});

let body = "";
const recording = new sdk.Client(DIRECT, KEY, {
  fetch: async (url, request) => {
    body = request.body;
    return fetch(url, request);
  },
});
const clock = new sdk.EventBuffer(recording, { wait: 1 });
clock.add({ ...event, event_time: undefined } as unknown as sdk.TrackPayload);
await clock.close();
told.timed = JSON.parse(body).events[0].event_time;

const rejected: unknown[] = [];
const buffer = new sdk.EventBuffer(cut, { batch: 20, most: 100, wait: 1, onRejection: (each) => rejected.push(each) });
for (let number = 0; number < 99; number += 1) buffer.add({ ...event, order_id: `order-${number}` });
buffer.add({ ...wrong, order_id: "wrong" });
try {
  buffer.add(event);
} catch (error) {
  told.full = (error as Error).name;
}
told.flushed = await buffer.close();
told.rejected = rejected;
told.waited = waits.length;
told.once = await failure(cut.createContact({ emails: ["b@example.com"] }));

const batches: string[] = [];
for (const [number, url] of (JSON.parse(HALVES) as string[]).entries()) {
  const half = new sdk.Client(url, KEY, { sleep, retries: 5 });
  for await (const result of half.trackMany([{ ...event, order_id: `half-${number}` }])) batches.push(result.status);
}
told.halves = batches;

const lost: unknown[] = [];
for (const [number, url] of (JSON.parse(STRANGERS) as string[]).entries()) {
  const client = new sdk.Client(url, KEY, { sleep, retries: 5 });
  const patient = new sdk.EventBuffer(client, { wait: 1, rest: 1, onRejection: (each) => lost.push(each) });
  for (const part of ["a", "b"]) patient.add({ ...event, order_id: `stranger-${number}-${part}` });
  while (!(await patient.flush()));
}
told.lost = lost;

const contacts: number[] = [];
for await (const contact of direct.iterateContacts({ ...year, per_page: 2 })) contacts.push(contact.id);
told.contacts = contacts;

told.identity = await sdk.signIdentity("s3cret", { email: " Anna@Example.com ", trackingId: "u-1", at: 1_790_000_000 });
told.webhook = await sdk.signWebhook("whsec_c2VjcmV0", '{"order": 1}', { at: 1_790_000_000 });
told.assistant = sdk.configureAssistant("https://hw.example/", 1, "trk_mcp_x");

const sent: unknown[] = [];
const recorder = new sdk.Client("http://nowhere", "key", {
  fetch: async (url, request) => {
    const body = request?.body instanceof Blob ? await request.body.text() : request?.body;
    sent.push([request?.method, String(url).replace("http://nowhere", ""), body ?? null]);
    return new Response("{}");
  },
});
for (const [name, ...given] of JSON.parse(OPERATIONS) as [string, ...unknown[]][]) {
  if (/^create\w+Import$/.test(name)) given[0] = new Blob([given[0] as string]);
  await (recorder as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[name]?.(...given);
}
told.sent = sent;
console.log(JSON.stringify(told));
