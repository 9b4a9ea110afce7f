/** One place in an input that is wrong: where it stands, what is wrong, and what would be right. */
export interface Diagnostic {
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  /** The field's path, `case_groups[0].evaluators[1].ref`; null when the whole file is meant. */
  readonly field: string | null;
  readonly message: string;
  readonly hint: string | null;
}

/** Every error code Proctor raises: its title, the CLI's exit code and the HTTP status of its problem object. */
export const ERROR_CODES = {
  usage: { title: 'The command was used wrongly', exit: 2, status: 400 },
  invalid_profile: { title: 'The profile is not valid', exit: 2, status: 422 },
  invalid_dataset: { title: 'The dataset is not valid', exit: 2, status: 422 },
  invalid_input: { title: 'The input is not valid', exit: 2, status: 422 },
  unsupported: { title: 'Not available in this version', exit: 2, status: 422 },
  body_too_large: { title: 'The request is too large', exit: 2, status: 413 },
  not_found: { title: 'Not found', exit: 2, status: 404 },
  run_key_conflict: { title: 'The run key is taken by another snapshot', exit: 2, status: 409 },
  invalid_policy: { title: 'The policy is not valid', exit: 2, status: 422 },
  invalid_project: { title: 'The project file is not valid', exit: 2, status: 422 },
  idempotency_conflict: { title: 'The idempotency key is taken by another call', exit: 2, status: 409 },
  unauthorized: { title: 'Who asks is not known', exit: 2, status: 401 },
  forbidden: { title: 'This principal may not do that', exit: 2, status: 403 },
  source_unavailable: { title: 'A tool source cannot be used', exit: 3, status: 503 },
  secret_missing: { title: 'A secret is not set', exit: 2, status: 422 },
  code_mismatch: { title: 'The code is not the code that was frozen', exit: 2, status: 409 },
  not_pending: { title: 'The approval was answered or has ended', exit: 2, status: 409 },
  approval_expired: { title: 'The approval has expired', exit: 2, status: 410 },
  mismatch: { title: 'That is not what the approval shows', exit: 2, status: 409 },
  not_an_approver: { title: 'This principal may not answer', exit: 2, status: 403 },
  not_editable: { title: 'The call may not be changed', exit: 2, status: 409 },
  illegal_transition: { title: 'The state does not allow this', exit: 2, status: 409 },
  lease_lost: { title: 'The lease is lost', exit: 3, status: 409 },
  store_newer: { title: 'The store was written by a newer Proctor', exit: 3, status: 500 },
  store_altered: { title: 'The store is not as its migrations left it', exit: 3, status: 500 },
  store_busy: { title: 'The store stayed locked', exit: 3, status: 503 },
  store_full: { title: 'The disk is full', exit: 3, status: 507 },
  store_lost: { title: 'The store is gone', exit: 3, status: 503 },
  store_read_only: { title: 'The store can only be read here', exit: 3, status: 503 },
  store_failed: { title: 'The store failed', exit: 3, status: 500 },
  artifact_corrupt: { title: 'An artifact is not what its name says', exit: 3, status: 500 },
  artifact_missing: { title: 'An artifact is missing', exit: 3, status: 500 },
  run_failed: { title: 'The run failed', exit: 3, status: 500 },
  internal: { title: 'Proctor failed', exit: 3, status: 500 },
} as const satisfies Record<string, { title: string; exit: number; status: number }>;
/** The code of an error, as `--json` shows it. */
export type ErrorCode = keyof typeof ERROR_CODES;

const MARK = Symbol.for('proctor.error');

/** The one error class: what happened, with which value, what to do next, and every place that is wrong. */
export class ProctorError extends Error {
  readonly code: ErrorCode;
  readonly diagnostics: readonly Diagnostic[];
  readonly [MARK] = true;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; diagnostics?: readonly Diagnostic[] } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'ProctorError';
    this.code = code;
    this.diagnostics = options.diagnostics ?? [];
  }

  /** True for a ProctorError of any copy of this package (worker threads and linked packages load their own). */
  static is(error: unknown): error is ProctorError {
    return typeof error === 'object' && error !== null && MARK in error;
  }
}

/** A problem object of RFC 9457, as `--json` prints it on stdout. */
export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly Diagnostic[];
}

/** The problem object of an error; an error that is not ours is `internal`. */
export function problemOf(error: unknown): ProblemDocument {
  const code: ErrorCode = ProctorError.is(error) ? error.code : 'internal';
  const { title, status } = ERROR_CODES[code];
  const detail = error instanceof Error ? error.message : String(error);
  return {
    type: `urn:proctor:problem:${code}`,
    title,
    status,
    code,
    detail,
    errors: ProctorError.is(error) ? error.diagnostics : [],
  };
}

/** A diagnostic with the fields that are known; the rest are null. */
export function diagnostic(message: string, at: Partial<Omit<Diagnostic, 'message'>> = {}): Diagnostic {
  return { file: null, line: null, column: null, field: null, hint: null, ...at, message };
}
