/** Any error of this package. */
export class HeadwaterError extends Error {
  override name = "HeadwaterError";
}

/** No response after all attempts. The request may or may not have been processed. */
export class ConnectionFailedError extends HeadwaterError {
  override name = "ConnectionFailedError";
}

/** The buffer is full. */
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

  constructor(status: number, message: string, errors: FieldErrors = {}) {
    super(`${status}: ${message}`);
    this.status = status;
    this.errors = errors;
  }
}
