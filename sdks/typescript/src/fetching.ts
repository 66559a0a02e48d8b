// What the client needs of `fetch`, described here so that its types need neither the DOM's nor Node's.

/** An AbortSignal. */
export type Signal = {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
};

export type CallOptions = {
  /** Ends the call when aborted. */
  signal?: Signal;
};

export type FetchRequest = {
  method: string;
  headers: Record<string, string>;
  redirect: "manual";
  keepalive: boolean;
  /** An AbortSignal of the runtime. */
  signal: any;
  /** A string, Blob or Uint8Array. */
  body?: any;
};

export type FetchResponse = {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
};

export type Fetch = (url: string, request: FetchRequest) => Promise<FetchResponse>;
