import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createElement, type ComponentType } from "react";
import ts from "typescript";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { SaysoProvider, type Thread } from "../src/index.js";
import {
  approval,
  calls,
  finished,
  interrupted,
  run,
  says,
  ScriptedServer,
  snapshot,
} from "./wire.js";

const ROOT = `${join(import.meta.dirname, "..")}/`;
/** The blocks of code of the README as they stand, in files of their own while this runs. */
const FOLDER = mkdtempSync(`${ROOT}tests/.blocks-`);
const BLOCKS = [
  ...readFileSync(`${ROOT}README.md`, "utf8").matchAll(/^```(tsx?)\n(.*?)^```$/gms),
].map(([, kind = "", text = ""], index) => {
  const path = join(FOLDER, `block-${index + 1}.${kind}`);
  writeFileSync(path, text);
  return { path, text };
});

afterAll(() => {
  rmSync(FOLDER, { recursive: true });
});

type Module = Record<string, unknown>;

async function block(words: string): Promise<Module> {
  const { path } = BLOCKS.find(({ text }) => text.includes(words)) ?? { path: words };
  return (await import(/* @vite-ignore */ path)) as Module;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

/** What the server of a block gets and says: blocks have no `fetch` of their own. */
function serving(): ScriptedServer {
  const server = new ScriptedServer();
  const base = "http://shop.example";
  vi.stubGlobal("fetch", (url: string, init: RequestInit) =>
    server.fetch(new URL(url, base).href, init),
  );
  return server;
}

it("each block is a whole module that compiles by strict rules", () => {
  const files = BLOCKS.map(({ path }) => path);
  const web = join(ROOT, "..");
  const { config } = ts.readConfigFile(join(web, "tsconfig.json"), (path) =>
    ts.sys.readFile(path),
  ) as { config: object };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, web);
  const program = ts.createProgram([...files, `${ROOT}tests/styles.d.ts`], options);
  const list = files.flatMap((path) => {
    const file = program.getSourceFile(path);
    const all = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return all.map(
      (diagnostic) => `${path}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`,
    );
  });
  expect(files.length).toBeGreaterThan(8);
  expect(list).toEqual([]);
}, 240_000);

it("the first page sends, shows the card, answers, and comes back to its thread", async () => {
  const server = serving().onConnect(run(...snapshot()));
  const { default: App } = (await block("export default function App")) as {
    default: ComponentType;
  };
  const thread = location.hash.slice(1);
  render(createElement(App));
  server.onRun(
    run(...calls("call-a", "refund", { amount: 5 }), interrupted(approval("a"))),
    run(...says("m9", "refunded"), finished),
  );
  await userEvent.type(screen.getByRole("textbox", { name: "Message" }), "refund");
  await userEvent.click(screen.getByRole("button", { name: "Send" }));
  await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
  expect(await screen.findByText("refunded")).toBeVisible();
  expect(screen.getByText("Approved")).toBeVisible();
  expect(server.runs.map(({ body }) => body.threadId)).toEqual([thread, thread]);
  expect(thread).not.toBe("");
});

it("each block runs, and makes no request by being loaded on a server", async () => {
  const mock = vi.fn();
  vi.stubGlobal("fetch", mock);
  for (const { path, text } of BLOCKS) {
    if (text.includes("new Conversation(")) continue; // it opens its thread, as it says
    await import(/* @vite-ignore */ path);
  }
  expect(mock).not.toHaveBeenCalled();
});

it("a card of one's own stands for its tool alone, and the outcome around it is ours", async () => {
  const { questions } = (await block("function EmailCard")) as { questions: React.ReactElement };
  const server = new ScriptedServer().onConnect(
    run(
      ...snapshot(),
      ...calls("call-a", "send_email", { to: "ada@shop", body: "Dear Ada" }),
      ...calls("call-b", "refund", {}),
      interrupted(approval("a"), approval("b")),
    ),
  );
  render(<SaysoProvider agents={{ one: server.agent() }}>{questions}</SaysoProvider>);
  expect(await screen.findByText("To ada@shop")).toBeVisible();
  expect(screen.queryByText("May I run a?")).toBeNull();
  expect(screen.getByText("May I run b?")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Send it" }));
  expect(await screen.findByText("Approved")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Change" }));
  await userEvent.click(screen.getByRole("button", { name: "Skip" }));
  server.onRun(run(finished));
  await userEvent.click(screen.getByRole("button", { name: "Approve" }));
  await userEvent.click(await screen.findByRole("button", { name: /^Send/ }));
  await waitFor(() => {
    expect(server.runs).toHaveLength(1);
  });
  expect(server.runs[0]?.body.resume).toEqual([
    { interruptId: "a", status: "cancelled" },
    { interruptId: "b", status: "resolved", payload: { approved: true } },
  ]);
  await act(async () => undefined);
});

it("every module that takes more of React than fragments and types is the client's", () => {
  const modules = readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" }).filter((path) =>
    /\.tsx?$/.test(path),
  );
  const wrong = modules.filter((path) => {
    const text = readFileSync(`${ROOT}src/${path}`, "utf8");
    const [, names = ""] = /import \{([^}]*)\} from "react";/.exec(text) ?? [];
    const taken = names.split(",").map((name) => name.trim());
    const runs = taken.some((name) => !/^$|^Fragment$|^type /.test(name));
    const acts = runs || /\buse[A-Z]\w*\(/.test(text) || /\bon[A-Z]\w*=\{/.test(text);
    return acts !== text.startsWith('"use client";\n');
  });
  expect(wrong).toEqual([]);
});

/** Every member of `useThread()`: the compiler misses one that is left out here. */
const THREAD: Record<keyof Thread, true> = {
  threadId: true,
  messages: true,
  agentState: true,
  steps: true,
  queued: true,
  unsent: true,
  connection: true,
  status: true,
  failure: true,
  closed: true,
  open: true,
  send: true,
  resend: true,
  discardUnsent: true,
  removeQueued: true,
  cancelAndSend: true,
  refresh: true,
};

it("names all that useThread() gives", () => {
  const page = readFileSync(`${ROOT}README.md`, "utf8");
  const [, listed] = /`useThread\(\)` gives the whole conversation:(.*?)\n\n/s.exec(page) ?? [];
  const names = [...(listed ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(names.sort()).toEqual(Object.keys(THREAD).sort());
});
