/** Any error of this package. */
export class HeadwaterError extends Error {
  override name = "HeadwaterError";
}

/** No response after all attempts. The request may or may not have been processed. */
export class ConnectionFailedError extends HeadwaterError {
  override name = "ConnectionFailedError";
}

/** JSON can't hold the event: it has a BigInt, or contains itself. */
export class InvalidEventError extends HeadwaterError {
  override name = "InvalidEventError";
}

/** The buffer is full, or closed. */
export class BufferFullError extends HeadwaterError {
  override name = "BufferFullError";
}

/** Messages by field. */
export type FieldErrors = Record<string, string[]>;

/** An error response. */
export class ApiError extends HeadwaterError {
  override name = "ApiError";
  readonly status: number;
  /** For a 422. */
  readonly errors: FieldErrors;
  /** The requested pause before another attempt, in milliseconds. */
  readonly retryAfter: number;

  constructor(status: number, message: string, errors: FieldErrors = {}, retryAfter = 0) {
    super(`${status}: ${message}`);
    this.status = status;
    this.errors = errors;
    this.retryAfter = retryAfter;
  }
}
