import { ProctorError } from '../contract/problem.ts';

const NOT_WRITTEN = [
  'EROFS',
  'EACCES',
  'EPERM',
  'ENOSPC',
  'EDQUOT',
  'EISDIR',
  'ENOTDIR',
  'EEXIST',
  'ENAMETOOLONG',
  'ELOOP',
];

/** A file or folder that the system does not let a command write is no fault of ours: a plain error without a trace. */
export function notWritten(error: unknown): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  if (ProctorError.is(error) || code === undefined || path === undefined || !NOT_WRITTEN.includes(code)) return error;
  return new ProctorError(
    'invalid_input',
    `\`${path}\` cannot be read or written (${code}); check its name, the disk and the permissions`,
    {
      cause: error,
    },
  );
}
