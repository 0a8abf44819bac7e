// npm run next: a page of Next.js that installs the packed React library is built as a user builds it.
// Its packages come from the registry, some 150 MB, so this is no stage of npm test.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { at, cache } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { exitWith, Failure } from "./failure.mjs";
import { checkNode } from "./node.mjs";
import { setUp } from "./setup.mjs";

const PACKAGES = [
  "next@16.4.6",
  "react@19.3.1",
  "react-dom@19.3.1",
  "@ag-ui/client@1.0.0",
  "typescript@5.9.3",
  "@types/react@19.3.3",
  "@types/node@20.19.43",
];

const LAYOUT = `
import "@sayso/react/styles.css";
import type { ReactNode } from "react";

export default function Layout({ children }: { children: ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}
`;

// Rendered on the server first, where there is neither a location nor a window.
const PAGE = `
import { Approvals } from "./approvals";

export default function Page() {
  return <Approvals />;
}
`;

const APPROVALS = `
"use client";

import { SaysoAgent, SaysoProvider } from "@sayso/react";
import { InterruptCards } from "@sayso/react/components";
import { Inbox } from "@sayso/react/core";

const inbox = new Inbox({ url: "/" });
const ops = new SaysoAgent({ url: "/agents/ops", agentId: "ops" });

export function Approvals() {
  return (
    <SaysoProvider agents={{ ops }}>
      <InterruptCards />
      <output>{inbox.getSnapshot().items.length}</output>
    </SaysoProvider>
  );
}
`;

await exitWith(async () => {
  checkNode();
  await setUp(["web"]);
  const folder = join(cache, "next");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "app"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(folder, "app", "layout.tsx"), LAYOUT);
  writeFileSync(join(folder, "app", "page.tsx"), PAGE);
  writeFileSync(join(folder, "app", "approvals.tsx"), APPROVALS);
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  await runOrFail("npm", pack, { cwd: at("web", "react") });
  const packed = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  await runOrFail("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES, `./${packed}`], {
    cwd: folder,
    advice: "Is a package registry in reach? The lines above say what npm missed.",
  });
  await runOrFail(join(folder, "node_modules", ".bin", "next"), ["build"], {
    cwd: folder,
    env: { NEXT_TELEMETRY_DISABLED: "1" },
    advice: "The lines above say why.",
  });
  const page = readFileSync(join(folder, ".next", "server", "app", "index.html"), "utf8");
  if (!page.includes("<output>0</output>")) throw new Failure("the page was not rendered.");
  return 0;
});
