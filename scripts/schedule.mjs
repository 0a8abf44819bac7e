// Plays tasks beside each other, so that no core waits for a network, a server or a page.
import { Failure, Interrupted } from "./failure.mjs";

// Plays tasks up to the end, or up to the first that went wrong unless `keepGoing`; what is playing
// then may end. Resolves to what came of each that was played: null, or what is wrong, by name.
//
// A task is a `name`, what it `needs`, the `slots` that it takes, and `play`, which resolves to null
// or to what is wrong. It begins as soon as what it needs is over and there is room for it. The first
// of the list come first: no later one takes the room of one that waits for more of it.
export async function playAll(tasks, { slots, keepGoing = false }) {
  const outcomes = new Map();
  const waiting = new Set(tasks);
  const playing = new Map();
  let taken = 0;
  let stopped = null;

  const begin = (task) => {
    waiting.delete(task);
    taken += task.slots;
    const ended = outcomeOf(task, outcomes)
      .then(
        (wrong) => outcomes.set(task.name, wrong),
        (error) => (stopped ??= error),
      )
      .finally(() => {
        taken -= task.slots;
        playing.delete(task.name);
      });
    playing.set(task.name, ended);
  };
  const isOver = () =>
    stopped || (!keepGoing && [...outcomes.values()].some((wrong) => wrong !== null));

  for (;;) {
    for (const task of isOver() ? [] : waiting) {
      if (!task.needs.every((need) => outcomes.has(need))) continue;
      if (playing.size > 0 && taken + task.slots > slots) break;
      begin(task);
    }
    if (playing.size === 0) break;
    await Promise.race(playing.values());
  }
  if (stopped) throw stopped;
  return outcomes;
}

// What comes of a task: it is not played without what it needs, and a failure is what is wrong.
async function outcomeOf(task, outcomes) {
  const missing = task.needs.find((need) => outcomes.get(need) !== null);
  if (missing) return `${missing}: ${outcomes.get(missing)}`;
  try {
    return await task.play();
  } catch (error) {
    if (error instanceof Failure && !(error instanceof Interrupted)) return error.message;
    throw error;
  }
}
