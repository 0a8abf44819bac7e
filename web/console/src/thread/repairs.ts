import { isRecord, request, textOrNull } from "../rest.js";
import type { Patch } from "./mergePatch.js";

/** Changes the state that a waiting thread goes on with. */
export async function editState(threadId: string, values: Patch): Promise<void> {
  await request(`${pathOf(threadId)}/state`, { method: "PATCH", body: { values } });
}

/** Copies a thread as it stood at a question; the id of the copy, in which it is open. */
export async function forkThread(threadId: string, interruptId: string): Promise<string> {
  const body = await request(`${pathOf(threadId)}/fork`, { method: "POST", body: { interruptId } });
  const made = isRecord(body) ? textOrNull(body.threadId) : null;
  if (made === null)
    throw new Error(
      "The fork was made, but the server did not say where. Find it among the conversations.",
    );
  return made;
}

/** Begins a thread's turn anew, with the code that the server has now. */
export async function restartThread(threadId: string): Promise<void> {
  await request(`${pathOf(threadId)}/restart`, { method: "POST", body: {} });
}

function pathOf(threadId: string): string {
  return `threads/${encodeURIComponent(threadId)}`;
}
