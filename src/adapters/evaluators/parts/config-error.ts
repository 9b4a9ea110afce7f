import { diagnostic, ProctorError } from '../../../contract/problem.ts';

/** The error of a config member that its schema takes and the evaluator cannot: `invalid_profile`, with the member's path and a cure. */
export function configError(
  field: string,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): ProctorError {
  const { hint = null, cause } = options;
  return new ProctorError('invalid_profile', hint === null ? message : `${message}; ${hint}`, {
    cause,
    diagnostics: [diagnostic(message, { field: `config.${field}`, hint })],
  });
}
