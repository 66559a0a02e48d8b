// The client, for browsers, edge runtimes and Node: it needs only fetch and crypto.
//
// Requests are retried only if that is safe: reads, PUT and DELETE; events with an idempotency_key, which
// `track` adds; touchpoints and imports, whose repetitions store nothing; and anything refused with 429. A
// retried DELETE that finds nothing counts as done, because an earlier attempt did it.

import { Api, type Accepted, type BatchAccepted, type FileContent, type Query, type ItemResult, type TrackPayload } from "./api.ts";
import { ApiError, ConnectionFailedError, type FieldErrors } from "./errors.ts";
import type { CallOptions, Fetch, FetchRequest, FetchResponse, Signal } from "./fetching.ts";

export const VERSION = "1.0.0";

const PREFIX = "/public-api/v1";
const LARGEST_BATCH = 1000;
const LARGEST_KEPT_ALIVE = 60_000;
/** Milliseconds between attempts, unless the service asks for more. */
const LONGEST_WAIT = 5000;
const GONE = { status: 200, message: "Deleted by an earlier attempt whose response was lost." };

export type ClientOptions = {
  /** Milliseconds that a call may take with all its retries (15,000). */
  timeout?: number;
  /** Maximum retries of a call (2). */
  retries?: number;
  /** Lets small requests outlive the page or worker that sends them (false). */
  keepalive?: boolean;
  /** The function that sends requests; the runtime's fetch by default. */
  fetch?: Fetch;
  /** The function that pauses between attempts. */
  sleep?: (milliseconds: number, signal: Signal) => Promise<void>;
};

/** An API key's access to its Space. Use keys only on servers: pages load the tracker instead. */
export class Client extends Api {
  readonly #origin: string;
  readonly #key: string;
  readonly #options: Required<ClientOptions>;

  /** `baseUrl` is the origin of the installation. Throws TypeError if it or the key can't be right. */
  constructor(baseUrl: string, key: string, options: ClientOptions = {}) {
    super();
    if (!/^https?:\/\/[^/\s]/i.test(baseUrl)) {
      throw new TypeError(`the base URL must begin with https:// or http://, not ${JSON.stringify(baseUrl)}`);
    }
    if (baseUrl.includes("/public-api")) {
      throw new TypeError(`the base URL must end before /public-api: ${JSON.stringify(baseUrl)}`);
    }
    if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key)) {
      throw new TypeError("the key must not be empty, or contain spaces, line breaks or other characters than ASCII");
    }
    this.#origin = baseUrl.replace(/\/+$/, "");
    this.#key = key;
    this.#options = {
      timeout: 15_000,
      retries: 2,
      keepalive: false,
      fetch: globalThis.fetch.bind(globalThis) as Fetch,
      sleep: pause,
      ...options,
    };
  }

  /** Returns the same client with other options: `client.withOptions({ timeout: 120_000 })` for large files. */
  withOptions(options: ClientOptions): Client {
    return new Client(this.#origin, this.#key, { ...this.#options, ...options });
  }

  /**
   * Sends an event, with retries. It is stored once, because it gets an idempotency key unless it has one.
   * Rejects with ApiError, ConnectionFailedError.
   */
  async track(event: TrackPayload): Promise<Accepted> {
    return this.createEvent(withKey(event));
  }

  /**
   * Sends events in batches of 1,000, or fewer if they are large, and yields the results in order. Rejects like
   * `track`.
   */
  async *trackMany(
    events: readonly TrackPayload[],
    options: CallOptions = {},
  ): AsyncGenerator<ItemResult, void, undefined> {
    for (let start = 0; start < events.length; start += LARGEST_BATCH) {
      const batch = events.slice(start, start + LARGEST_BATCH).map(withKey);
      for (const result of await this.#trackBatch(batch, options)) {
        yield { ...result, index: start + result.index };
      }
    }
  }

  async #trackBatch(events: TrackPayload[], options: CallOptions): Promise<ItemResult[]> {
    try {
      const answer = await this.call("POST", "/events/batch", {}, { events }, options);
      const { results } = answer as BatchAccepted;
      if (results?.length === events.length) return results;
      throw new ConnectionFailedError(`received ${results?.length ?? 0} results for ${events.length} events`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 422) return refusals(error, events.length);
      if (error.status !== 413 || events.length === 1) throw error;
    }
    const middle = Math.ceil(events.length / 2);
    const first = await this.#trackBatch(events.slice(0, middle), options);
    const second = await this.#trackBatch(events.slice(middle), options);
    return [...first, ...second.map((result) => ({ ...result, index: middle + result.index }))];
  }

  /** Sends a request with retries. Rejects with ApiError, ConnectionFailedError. */
  override async call(
    method: string,
    path: string,
    query: Query,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    const parameters = new URLSearchParams(flatten(query)).toString();
    const url = `${this.#origin}${PREFIX}${path}${parameters ? `?${parameters}` : ""}`;
    const harmless = method !== "POST" || mayRepeat(path, body);
    const { timeout, retries, sleep } = this.#options;
    const end = Date.now() + timeout;
    const signal = anySignal(AbortSignal.timeout(timeout), options.signal);
    let lost = false;
    for (let attempt = 1; ; attempt += 1) {
      let wait = (0.5 + Math.random() / 2) * Math.min(250 * 2 ** attempt, LONGEST_WAIT);
      const mayTry = () => attempt <= retries && !signal.aborted && Date.now() + wait < end;
      let answer: Answer | undefined;
      try {
        answer = await this.#send(method, url, body, signal);
      } catch (error) {
        lost = true;
        if (!harmless || !mayTry()) {
          throw new ConnectionFailedError(`${method} ${path}: ${String(error)}`, { cause: error });
        }
      }
      if (answer !== undefined) {
        const { response, text, value } = answer;
        if (response.ok) return value;
        if (lost && method === "DELETE" && response.status === 404) return { ...GONE };
        lost ||= response.status >= 500;
        const retryAfter = 1000 * (Number(response.headers.get("Retry-After")) || 0);
        wait = Math.max(wait, retryAfter);
        const again = response.status === 429 || (response.status >= 500 && harmless);
        if (!again || !mayTry()) throw apiError(response.status, text, retryAfter);
      }
      await sleep(wait, signal);
    }
  }

  async #send(method: string, url: string, body: unknown, signal: AbortSignal): Promise<Answer> {
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.#key}`,
      Accept: "application/json",
      "User-Agent": `headwater-client-typescript/${VERSION}`,
    };
    // Following a redirect would turn a POST into a GET.
    const request: FetchRequest = { method, headers, signal, redirect: "manual", keepalive: false };
    if (body !== undefined) {
      const isFile = body instanceof Blob || body instanceof Uint8Array;
      headers["Content-Type"] = isFile ? "text/csv" : "application/json";
      request.body = isFile ? (body as FileContent) : JSON.stringify(body);
    }
    // Runtimes refuse larger ones.
    request.keepalive = this.#options.keepalive && (request.body?.length ?? 0) < LARGEST_KEPT_ALIVE;
    const response = await this.#options.fetch(url, request);
    const text = await response.text();
    // Anything but JSON is truncated, or from a proxy.
    return { response, text, value: response.ok ? JSON.parse(text) : undefined };
  }
}

type Answer = { response: FetchResponse; text: string; value: unknown };

function anySignal(first: AbortSignal, second: Signal | undefined): AbortSignal {
  return second === undefined ? first : AbortSignal.any([first, second as AbortSignal]);
}

/** Resolves after some milliseconds, or at once when the signal is aborted. */
export function pause(milliseconds: number, signal: Signal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

/** Returns the event with an idempotency key. */
export function withKey(event: TrackPayload): TrackPayload {
  return event.idempotency_key ? event : { ...event, idempotency_key: crypto.randomUUID() };
}

/** Encodes parameters for the API: list items one by one, conditions as `name[0][field]`. */
export function flatten(query: Query): [string, string][] {
  const pairs: [string, string][] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (!Array.isArray(value)) {
      pairs.push([name, String(typeof value === "boolean" ? Number(value) : value)]);
      continue;
    }
    value.forEach((each: unknown, number) => {
      if (typeof each !== "object" || each === null) {
        pairs.push([name, String(each)]);
        return;
      }
      for (const [part, text] of Object.entries(each)) {
        pairs.push([`${name}[${number}][${part}]`, String(text)]);
      }
    });
  }
  return pairs;
}

function mayRepeat(path: string, body: unknown): boolean {
  if (path === "/events/track") return Boolean((body as TrackPayload).idempotency_key);
  if (path === "/events/batch") {
    return (body as { events: TrackPayload[] }).events.every((event) => event.idempotency_key);
  }
  return path === "/touchpoints/batch" || path.endsWith("/imports");
}

function apiError(status: number, text: string, retryAfter: number): ApiError {
  try {
    const told = JSON.parse(text) as { message: string; errors?: FieldErrors };
    return new ApiError(status, told.message, told.errors, retryAfter);
  } catch {
    return new ApiError(status, text.slice(0, 200), {}, retryAfter); // a proxy's answer
  }
}

/** Returns results for a batch without valid events, whose errors are at `events.<index>.<field>`. */
function refusals(error: ApiError, count: number): ItemResult[] {
  if (Object.keys(error.errors).length === 0) throw error; // from a proxy
  const results = Array.from({ length: count }, (_, index) => {
    const errors: FieldErrors = {};
    return { index, status: "invalid" as const, errors };
  });
  for (const [place, rules] of Object.entries(error.errors)) {
    const [, index, ...field] = place.split(".");
    const result = results[Number(index)];
    if (result === undefined) throw error;
    result.errors[field.join(".")] = rules;
  }
  return results;
}
