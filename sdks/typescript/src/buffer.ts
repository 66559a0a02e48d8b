/// <reference lib="esnext.disposable" preserve="true" />
// A bounded buffer of events in memory, emptied in batches. An event gets its idempotency_key and event_time
// when added, so that retries are stored once and with the original time.

import type { TrackPayload } from "./api.ts";
import { type Client, pause, withKey } from "./client.ts";
import { ApiError, BufferFullError, type FieldErrors, HeadwaterError, InvalidEventError } from "./errors.ts";

/**
 * Statuses that mean invalid events. Any other, such as a proxy's 404 during an outage, may be temporary.
 */
const FINAL: ReadonlySet<number> = new Set([413, 422]);
const CLOSE_TIMEOUT = 15_000;
/** The longest pause between attempts while `close` waits, in milliseconds. */
const CLOSE_REST = 500;

export type BufferOptions = {
  /** Capacity (100,000). */
  most?: number;
  /** Events sent together (500). */
  batch?: number;
  /** Milliseconds that an event waits for others (1,000). */
  wait?: number;
  /** Pause while the service can't be reached or refuses all events, in milliseconds (10,000). */
  rest?: number;
  /** Called for invalid events, which are removed. What it throws is written to the console. */
  onRejection?: (event: TrackPayload, errors: FieldErrors) => unknown;
};

/** A buffer that sends events in the background. */
export class EventBuffer {
  readonly #client: Client;
  readonly #options: Required<BufferOptions>;
  readonly #stop = new AbortController();
  #events: TrackPayload[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;
  /** The reason if the latest batch could not be sent, or undefined. */
  failure: HeadwaterError | undefined;

  constructor(client: Client, options: BufferOptions = {}) {
    this.#client = client;
    this.#options = {
      most: 100_000, batch: 500, wait: 1000, rest: 10_000, onRejection: () => {}, ...options,
    };
  }

  /** The number of waiting events. */
  get size(): number {
    return this.#events.length;
  }

  /**
   * Adds a copy of an event. Throws InvalidEventError if JSON can't hold it, BufferFullError if there is no
   * room or the buffer is closed.
   */
  add(event: TrackPayload): void {
    if (this.#closed) throw new BufferFullError("the buffer is closed");
    if (this.size >= this.#options.most) throw new BufferFullError(`${this.size} events are waiting`);
    this.#events.push(copy(withKey({ ...event, event_time: event.event_time || new Date().toISOString() })));
    this.#schedule(this.size >= this.#options.batch ? 0 : this.#options.wait);
  }

  /** Sends waiting events. Resolves to whether none are left. */
  async flush(): Promise<boolean> {
    do {
      await this.#start();
    } while (this.size > 0 && this.failure === undefined);
    return this.size === 0;
  }

  /**
   * Sends waiting events for at most `timeout` milliseconds (15,000), with as many attempts as it takes, and
   * stops. Resolves like `flush`.
   */
  async close(timeout: number = CLOSE_TIMEOUT): Promise<boolean> {
    this.#closed = true;
    const { signal } = this.#stop;
    const timer = setTimeout(() => this.#stop.abort(), timeout);
    try {
      while (!signal.aborted && !(await this.flush())) {
        await pause(this.#pauseAfterFailure(CLOSE_REST), signal);
      }
      return this.size === 0;
    } finally {
      clearTimeout(timer);
      clearTimeout(this.#timer);
    }
  }

  /** Closes the buffer at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #schedule(milliseconds: number): void {
    if (this.#timer !== undefined && milliseconds > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#start(), milliseconds);
  }

  /** Sends a batch, or waits for the current one. */
  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#send(this.#events.slice(0, this.#options.batch)).finally(() => {
      this.#sending = undefined;
      if (this.size > 0 && !this.#closed) {
        this.#schedule(this.failure === undefined ? this.#options.wait : this.#pauseAfterFailure());
      }
    });
    await this.#sending;
  }

  /** Returns the milliseconds before the next attempt: `rest` or `longest`, or more if the service asks for it. */
  #pauseAfterFailure(longest = Infinity): number {
    const requested = this.failure instanceof ApiError ? this.failure.retryAfter : 0;
    return Math.max(Math.min(this.#options.rest, longest), requested);
  }

  async #send(events: TrackPayload[]): Promise<void> {
    try {
      await this.#deliver(events);
      this.failure = undefined;
    } catch (error) {
      this.failure =
        error instanceof HeadwaterError ? error : new HeadwaterError(String(error), { cause: error });
    }
  }

  async #deliver(events: TrackPayload[]): Promise<void> {
    const refused: [TrackPayload, FieldErrors][] = [];
    try {
      for await (const result of this.#client.trackMany(events, { signal: this.#stop.signal })) {
        const event = events[result.index];
        if (event && result.status === "invalid") refused.push([event, result.errors ?? {}]);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || !FINAL.has(error.status)) throw error;
      if (events.length > 1) {
        // Halve the batch: an event is invalid, or the batch too large.
        const half = Math.ceil(events.length / 2);
        await this.#deliver(events.slice(0, half));
        await this.#deliver(events.slice(half));
        return;
      }
      for (const event of events) refused.push([event, { "": [error.message] }]);
    }
    const done = new Set(events);
    this.#events = this.#events.filter((event) => !done.has(event));
    for (const [event, errors] of refused) this.#report(event, errors);
  }

  /** Calls `onRejection`, whose faults must not stop the buffer or the process. */
  #report(event: TrackPayload, errors: FieldErrors): void {
    const warn = (error: unknown) => console.warn("headwater-client: onRejection failed:", error);
    try {
      Promise.resolve(this.#options.onRejection(event, errors)).catch(warn);
    } catch (error) {
      warn(error);
    }
  }
}

/** Returns what JSON will send of an event, so that later changes to it have no effect. */
function copy(event: TrackPayload): TrackPayload {
  try {
    return JSON.parse(JSON.stringify(event)) as TrackPayload;
  } catch (error) {
    throw new InvalidEventError(`JSON can't hold the event: ${String(error)}`, { cause: error });
  }
}
