// Fails unless a type checker knows the type of everything that authors import.
//
//   node scripts/publicTypes.mjs [--without MODULE]... PYTHON MODULE
//
// PYTHON is the interpreter whose packages count. What stands in a module after --without, or below
// it, is another environment's: the frameworks of agents are not in this one.
import { execFile } from "node:child_process";
import { delimiter, dirname } from "node:path";

import { at } from "./checkout.mjs";
import { exitWith } from "./failure.mjs";

const REPORT_BYTES = 256 * 2 ** 20;

async function report(python, module) {
  const args = ["--verifytypes", module, "--ignoreexternal", "--outputjson"];
  // It looks for the package where the first Python of the path has its own.
  const env = {
    ...process.env,
    PATH: [dirname(python), process.env.PATH].join(delimiter),
  };
  const printed = await new Promise((resolve, reject) => {
    const options = { env, maxBuffer: REPORT_BYTES };
    execFile(at("node_modules", ".bin", "pyright"), args, options, (error, stdout, stderr) => {
      // It fails for what is left out as well, so its report decides.
      if (stdout.startsWith("{")) resolve(stdout);
      else reject(error ?? new Error(`pyright printed no report: ${stderr}`));
    });
  });
  return JSON.parse(printed);
}

export function unknownTypes({ typeCompleteness, generalDiagnostics = [] }, without = []) {
  if (!typeCompleteness?.symbols.length) {
    return ["there is no such module", ...generalDiagnostics.map(({ message }) => message)];
  }
  const elsewhere = (name) => without.some((one) => name === one || name.startsWith(`${one}.`));
  return typeCompleteness.symbols
    .filter((symbol) => symbol.isExported && (!symbol.isTypeKnown || symbol.isTypeAmbiguous))
    .filter(({ name }) => !elsewhere(name))
    .map(({ name, diagnostics }) =>
      [name, ...diagnostics.map(({ message }) => message)].join(": "),
    );
}

async function main(args) {
  const without = [];
  while (args[0] === "--without") without.push(args.splice(0, 2)[1]);
  const [python, module] = args;
  const unknown = unknownTypes(await report(python, module), without);
  for (const one of unknown) console.error(one);
  console.log(
    unknown.length === 0
      ? `All types of ${module} are known.`
      : `${unknown.length} types of ${module} are not known: write them down.`,
  );
  return unknown.length === 0 ? 0 : 1;
}

if (process.argv[1] === at("scripts", "publicTypes.mjs")) {
  await exitWith(() => main(process.argv.slice(2)));
}
