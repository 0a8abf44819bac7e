// A Node process that runs an agent, as a page rendered on a server would: `host.mjs MODULE CLASS
// URL [guard]`. Prints how the run ended and ends by itself, unless something brings it down.
import { setImmediate } from "node:timers";

const [module, name, url, guard] = process.argv.slice(2);

if (guard === "guard") {
  process.on("unhandledRejection", (reason) => console.log(`unhandled: ${reason?.message}`));
}

const { [name]: Agent } = await import(module);
const agent = new Agent({ url, threadId: "thread" });
agent.addMessage({ id: "m1", role: "user", content: "hello" });
try {
  await agent.runAgent();
  console.log("finished");
} catch (error) {
  console.log(`rejected: ${error.message}`);
}
// What reaches nobody does so in a later turn of the loop: the process lives on for some of them.
for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
console.log("alive");
