import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

// Relative addresses: the built page may lie anywhere. In development the server is reached through
// this one, so that no origin has to be named to it. For that it must see the Host that the page was
// loaded from, which Vite would change by itself.
export default defineConfig(({ mode }) => {
  const target = loadEnv(mode, ".", "SAYSO_")["SAYSO_URL"] ?? "http://127.0.0.1:8000";
  const sayso = { target, changeOrigin: false };
  return {
    base: "./",
    plugins: [react()],
    build: { target: "es2022", minify: false, reportCompressedSize: false },
    server: { proxy: { "/agents": sayso, "/threads": sayso } },
  };
});
