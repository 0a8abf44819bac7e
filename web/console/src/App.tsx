import { BrowserRouter, Navigate, Route, Routes, useNavigate } from "react-router";
import { rootPath } from "./base.js";
import { InboxPage } from "./inbox/InboxPage.js";
import { InboxProvider } from "./inbox/InboxProvider.js";
import { Frame } from "./Frame.js";
import { Notice } from "./Notice.js";
import { PlaygroundPage } from "./playground/PlaygroundPage.js";

/** The console: its views and their addresses, below wherever the server is mounted. */
export function App() {
  return (
    <BrowserRouter basename={rootPath()}>
      <InboxProvider>
        <Routes>
          <Route index element={<Navigate to="/play" replace />} />
          <Route path="play" element={<PlaygroundPage />} />
          <Route path="play/:agentId" element={<PlaygroundPage />} />
          <Route path="play/:agentId/:threadId" element={<PlaygroundPage />} />
          <Route path="inbox" element={<InboxPage />} />
          <Route path="inbox/:interruptId" element={<InboxPage />} />
          <Route path="*" element={<Nowhere />} />
        </Routes>
      </InboxProvider>
    </BrowserRouter>
  );
}

function Nowhere() {
  const navigate = useNavigate();
  const home = () => {
    void navigate("/");
  };
  return (
    <Frame tools={null}>
      <Notice title="There is no such page" action={{ label: "To the playground", onClick: home }}>
        The address may be mistyped, or the page has moved.
      </Notice>
    </Frame>
  );
}
