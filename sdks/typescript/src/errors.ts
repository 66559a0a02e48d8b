/** Any failure of this package. */
export class HeadwaterError extends Error {
  override name = "HeadwaterError";
}

/** No answer came, however often it was tried. Whether the request was carried out is open. */
export class ConnectionFailedError extends HeadwaterError {
  override name = "ConnectionFailedError";
}

/** There is no room for another event. */
export class BufferFullError extends HeadwaterError {
  override name = "BufferFullError";
}

/** The broken rules under each field. */
export type FieldErrors = Record<string, string[]>;

/** An answer that refuses. */
export class ApiError extends HeadwaterError {
  override name = "ApiError";
  readonly status: number;
  /** Of a 422. */
  readonly errors: FieldErrors;

  constructor(status: number, message: string, errors: FieldErrors = {}) {
    super(`${status}: ${message}`);
    this.status = status;
    this.errors = errors;
  }
}
