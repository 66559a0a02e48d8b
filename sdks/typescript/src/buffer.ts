// Events that are sent by and by: a bounded buffer in memory that is emptied in batches. Each event gets
// its idempotency_key and its event_time when it comes in, so that whatever is sent again is stored once,
// and at the time at which it happened.

import type { TrackPayload } from "./api.ts";
import { type Client, withKey } from "./client.ts";
import { ApiError, BufferFullError, type FieldErrors, HeadwaterError } from "./errors.ts";

/**
 * Statuses that say of events that they will never be accepted. Every other, such as a proxy's 404 while
 * nothing is behind it, may be another one later.
 */
const FINAL: ReadonlySet<number> = new Set([413, 422]);

export type BufferOptions = {
  /** How many events it holds (100,000). */
  most?: number;
  /** How many are sent at a time (500). */
  batch?: number;
  /** Milliseconds that an event waits for others (1,000). */
  wait?: number;
  /** Milliseconds of rest while the service cannot be reached or refuses all, as with a wrong key (10,000). */
  rest?: number;
  /** Called with each event that was refused for good, and removed. */
  onRejection?: (event: TrackPayload, errors: FieldErrors) => void;
};

/** A buffer of events, which sends them while the program goes on. */
export class EventBuffer {
  readonly #client: Client;
  readonly #options: Required<BufferOptions>;
  #events: TrackPayload[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;
  /** Why the latest batch could not be sent; undefined when it could. */
  failure: HeadwaterError | undefined;

  constructor(client: Client, options: BufferOptions = {}) {
    this.#client = client;
    this.#options = {
      most: 100_000, batch: 500, wait: 1000, rest: 10_000, onRejection: () => {}, ...options,
    };
  }

  /** How many events wait. */
  get size(): number {
    return this.#events.length;
  }

  /** Takes an event. Throws BufferFullError. */
  add(event: TrackPayload): void {
    if (this.#closed || this.size >= this.#options.most) {
      throw new BufferFullError(`${this.size} events wait`);
    }
    const kept = withKey(event);
    this.#events.push(kept.event_time ? kept : { ...kept, event_time: new Date().toISOString() });
    this.#schedule(this.size >= this.#options.batch ? 0 : this.#options.wait);
  }

  /** Sends what waits. Resolves to whether nothing is left: false when it could not be sent. */
  async flush(): Promise<boolean> {
    do {
      await this.#start();
    } while (this.size > 0 && this.failure === undefined);
    return this.size === 0;
  }

  /** Sends what waits and ends. Resolves as `flush` does. */
  async close(): Promise<boolean> {
    this.#closed = true;
    const done = await this.flush();
    clearTimeout(this.#timer);
    return done;
  }

  #schedule(milliseconds: number): void {
    if (this.#timer !== undefined && milliseconds > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#start(), milliseconds);
  }

  /** Sends a batch, unless one is under way; then waits for that. */
  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#send(this.#events.slice(0, this.#options.batch)).finally(() => {
      this.#sending = undefined;
      if (this.size > 0 && !this.#closed) {
        this.#schedule(this.failure === undefined ? this.#options.wait : this.#options.rest);
      }
    });
    await this.#sending;
  }

  async #send(events: TrackPayload[]): Promise<void> {
    try {
      await this.#deliver(events);
      this.failure = undefined;
    } catch (error) {
      if (!(error instanceof HeadwaterError)) throw error;
      this.failure = error;
    }
  }

  async #deliver(events: TrackPayload[]): Promise<void> {
    const refused: [TrackPayload, FieldErrors][] = [];
    try {
      for await (const result of this.#client.trackMany(events)) {
        const event = events[result.index];
        if (event && result.status === "invalid") refused.push([event, result.errors ?? {}]);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || !FINAL.has(error.status)) throw error;
      if (events.length > 1) {
        // One of them, or all together, are too much: in halves.
        const half = Math.ceil(events.length / 2);
        await this.#deliver(events.slice(0, half));
        await this.#deliver(events.slice(half));
        return;
      }
      for (const event of events) refused.push([event, { "": [error.message] }]);
    }
    const done = new Set(events);
    this.#events = this.#events.filter((event) => !done.has(event));
    for (const [event, errors] of refused) this.#options.onRejection(event, errors);
  }
}
