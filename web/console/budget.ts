import { gzipSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

/** What a page may have to load before it shows anything: JavaScript, gzipped. */
const LIMIT_BYTES = 200_000;
const FORM_EDITOR = "/@rjsf/";

type Bundle = Readonly<Record<string, Rolldown.OutputAsset | Rolldown.OutputChunk>>;

/** The JavaScript files of the first load: the entry and what it imports, and those in their turn. */
export function firstLoad(bundle: Bundle): readonly Rolldown.OutputChunk[] {
  const match = new Set<Rolldown.OutputChunk>();
  const add = (name: string) => {
    const file = bundle[name];
    if (file?.type !== "chunk" || match.has(file)) return;
    match.add(file);
    file.imports.forEach(add);
  };
  for (const file of Object.values(bundle)) {
    if (file.type === "chunk" && file.isEntry) add(file.fileName);
  }
  return [...match];
}

/** Fails the build when the first load is over its limit, or holds the form editor. */
export function budget(limit = LIMIT_BYTES): Plugin {
  return {
    name: "sayso-budget",
    apply: "build",
    generateBundle(_options, bundle) {
      const chunks = firstLoad(bundle);
      const bytes = chunks.reduce((sum, { code }) => sum + gzipSync(code).byteLength, 0);
      if (chunks.some(({ moduleIds }) => moduleIds.some((id) => id.includes(FORM_EDITOR)))) {
        this.error("The first load holds the form editor, which is loaded with the first form.");
      }
      if (bytes > limit) {
        this.error(
          `The first load is ${bytes} bytes of JavaScript, gzipped (limit ${limit}). Load what is ` +
            "not needed first when it is needed: import() makes a file of its own.",
        );
      }
      this.info(`first load: ${bytes} bytes of JavaScript, gzipped (limit ${limit})`);
    },
  };
}
