export type * from "./api.ts";
export { assistantUrl, configureAssistant } from "./assistants.ts";
export { type BufferOptions, EventBuffer } from "./buffer.ts";
export { Client, type ClientOptions } from "./client.ts";
export { ApiError, BufferFullError, ConnectionFailedError, type FieldErrors, HeadwaterError } from "./errors.ts";
export { signIdentity, signWebhook } from "./signing.ts";
