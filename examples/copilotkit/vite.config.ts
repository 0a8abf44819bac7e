import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

// Relative addresses: the built page may lie anywhere. In development the runtime is reached
// through this server, so that no origin has to be named to the Sayso server. For that it must see
// the Host that the page was loaded from, which Vite would change by itself.
export default defineConfig(({ mode }) => {
  const target = loadEnv(mode, ".", "SAYSO_")["SAYSO_URL"] ?? "http://127.0.0.1:8000";
  const sayso = { target, changeOrigin: false };
  // The same page over the core of the next release, whose hooks are not out yet: dist/next.
  const next = {
    "@copilotkit/core": "copilotkit-core-next",
    "@copilotkit/shared": "copilotkit-shared-next",
  };
  const isNext = mode === "next";
  return {
    base: "./",
    plugins: [react()],
    resolve: { alias: isNext ? next : {} },
    build: {
      rolldownOptions: { input: isNext ? "index.html" : ["index.html", "v1.html"] },
      outDir: isNext ? "dist/next" : "dist",
      target: "es2022",
      minify: false,
      reportCompressedSize: false,
    },
    server: { proxy: { "/copilotkit": sayso, "/agents": sayso } },
  };
});
