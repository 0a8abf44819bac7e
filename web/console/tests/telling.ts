import { act, waitFor } from "@testing-library/react";
import { expect } from "vitest";
import type { InboxServer } from "../../react/tests/core/inboxServer.js";

/** What the server sends reaches a page that listens. */
export async function tell(server: InboxServer, event: Record<string, unknown>): Promise<void> {
  await waitFor(() => {
    expect(server.streams).toBe(1);
  });
  act(() => {
    server.tell(event);
  });
}
