/**
 * Stands in the console's build for `@ag-ui/proto`, the protocol's binary form: `@ag-ui/client`
 * imports it for every server, and this console's own server answers with server-sent events alone.
 */
export const AGUI_MEDIA_TYPE = "application/vnd.ag-ui.event+proto";

export function decode(): never {
  throw new Error(
    "The server answered in the binary form of AG-UI, which this console does not read.",
  );
}

/** Raised by the package's `decode` for an event that it does not know. */
export class AGUIUnknownEventTypeError extends Error {}
