// npm start: sets up what the demo needs and serves it. Arguments go to `sayso demo`.
import { venvBin } from "./checkout.mjs";
import { exitWith } from "./failure.mjs";
import { serve } from "./server.mjs";
import { setUp } from "./setup.mjs";

await exitWith(async () => {
  await setUp(["python", "web"]);
  return serve(venvBin("sayso"), ["demo", ...process.argv.slice(2)]);
});
