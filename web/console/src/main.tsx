import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root to render into.");
createRoot(root).render(
  <StrictMode>
    <p>Sayso</p>
  </StrictMode>,
);
