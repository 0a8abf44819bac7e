import "@sayso/react/styles.css";
import "./styles/page.css";
import "./styles/playground.css";
import "./styles/transcript.css";
import "./styles/panel.css";
import "./styles/nav.css";
import "./styles/question.css";
import "./styles/inbox.css";
import "./styles/thread.css";
import "./styles/repairs.css";
import "./styles/settings.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { applyTheme } from "./theme.js";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root to render into.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
