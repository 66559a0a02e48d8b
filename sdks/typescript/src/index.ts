export type * from "./api.ts";
export { assistantUrl, configureAssistant } from "./assistants.ts";
export { type BufferOptions, EventBuffer } from "./buffer.ts";
export { Client, type ClientOptions, VERSION } from "./client.ts";
export { ApiError, BufferFullError, ConnectionFailedError, type FieldErrors, HeadwaterError, InvalidEventError } from "./errors.ts";
export type { CallOptions, Fetch, FetchRequest, FetchResponse, Signal } from "./fetching.ts";
export { signIdentity, signWebhook } from "./signing.ts";
