/** Where a parameter stands in a request. */
export type Place = 'path' | 'query' | 'header' | 'cookie';

/** How a value becomes text, by the names of OpenAPI. */
export type Style = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

/** How a parameter or a form's field is written. */
export interface Writing {
  readonly name: string;
  readonly style: Style;
  readonly explode: boolean;
  /** Whether characters that a query may hold stay as they are. */
  readonly reserved: boolean;
  /** Whether the value is written as JSON. */
  readonly json: boolean;
}

/** A parameter of an operation, and the argument that its value comes from. */
export interface ParameterBinding extends Writing {
  readonly argument: string;
  readonly in: Place;
}

/** A field of a form that is not written as its value suggests. */
export interface FieldBinding {
  readonly name: string;
  readonly writing: Writing | null;
  /** The media type of the field in a multipart body. */
  readonly media_type: string | null;
}

/** How the argument `body` is sent. */
export interface BodyBinding {
  readonly form: 'json' | 'urlencoded' | 'multipart' | 'text';
  readonly media_type: string;
  readonly fields: readonly FieldBinding[];
}

/** Everything that a call of an operation is made from besides the arguments; part of the definition that is pinned. */
export interface OperationBinding {
  readonly method: string;
  /** Base URL without a slash at its end. */
  readonly server: string;
  /** The template of the path, its fixed parts percent-encoded. */
  readonly path: string;
  readonly parameters: readonly ParameterBinding[];
  readonly body: BodyBinding | null;
  readonly accept: string;
  /** Whether the answer is held against a schema, or why it is not; `wrapped`: what is checked is `{result: answer}`. */
  readonly output:
    | { readonly type: 'checked'; readonly wrapped: boolean }
    | { readonly type: 'unchecked'; readonly reason: string };
}

/** A tool in MCP's members, with the operation behind it. */
export interface OperationTool {
  readonly name: string;
  readonly operation: OperationBinding;
  readonly [member: string]: unknown;
}

/** A document as tools. */
export interface CompiledDocument {
  readonly tools: readonly OperationTool[];
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/** Thrown for a part of a document that no tool can be made of; the message is the reason. */
export class Unusable extends Error {}

/** An object as YAML and JSON have it. */
export type Members = Readonly<Record<string, unknown>>;

/** True for an object that is no list. */
export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
