import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import "./page.css";
import { openThread, threadOf } from "./settings";

if (threadOf(location) === "") openThread();

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
