import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Relative addresses: the built page may lie anywhere. In development the runtime is reached
// through this server, so that no origin has to be named to the Sayso server.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: { target: "es2022", minify: false, reportCompressedSize: false },
  server: { proxy: { "/copilotkit": "http://127.0.0.1:8000", "/agents": "http://127.0.0.1:8000" } },
});
