import { FormDraftProvider, sessionFormDrafts } from "@sayso/react/components";
import { lazy, Suspense } from "react";
import { BrowserRouter, Navigate, Route, Routes, useNavigate } from "react-router";
import { rootPath } from "./base.js";
import { ErrorPage } from "./ErrorPage.js";
import { InboxProvider } from "./inbox/InboxProvider.js";
import { Layout } from "./Layout.js";
import { Notice } from "./Notice.js";
import { PlaygroundPage } from "./playground/PlaygroundPage.js";

const InboxPage = lazy(async () => ({
  default: (await import("./inbox/InboxPage.js")).InboxPage,
}));
const ThreadPage = lazy(async () => ({
  default: (await import("./thread/ThreadPage.js")).ThreadPage,
}));
const ThreadsPage = lazy(async () => ({
  default: (await import("./thread/ThreadsPage.js")).ThreadsPage,
}));
const SettingsPage = lazy(async () => ({
  default: (await import("./settings/SettingsPage.js")).SettingsPage,
}));

const DRAFTS = sessionFormDrafts();

/** The console: its views and their addresses, below wherever the server is mounted. */
export function App() {
  return (
    <BrowserRouter basename={rootPath()}>
      <FormDraftProvider drafts={DRAFTS}>
        <InboxProvider>
          <ErrorPage>
            <Suspense fallback={<Loading />}>
              <Routes>
                <Route index element={<Navigate to="/play" replace />} />
                <Route path="play" element={<PlaygroundPage />} />
                <Route path="play/:agentId" element={<PlaygroundPage />} />
                <Route path="play/:agentId/:threadId" element={<PlaygroundPage />} />
                <Route path="inbox" element={<InboxPage />} />
                <Route path="inbox/:interruptId" element={<InboxPage />} />
                <Route path="thread" element={<ThreadsPage />} />
                <Route path="thread/:agentId/:threadId" element={<ThreadPage />} />
                <Route path="settings" element={<SettingsPage />} />
                <Route path="*" element={<Nowhere />} />
              </Routes>
            </Suspense>
          </ErrorPage>
        </InboxProvider>
      </FormDraftProvider>
    </BrowserRouter>
  );
}

function Loading() {
  return (
    <Layout tools={null}>
      <Notice title="Loading…" />
    </Layout>
  );
}

function Nowhere() {
  const navigate = useNavigate();
  const home = () => {
    void navigate("/");
  };
  return (
    <Layout tools={null}>
      <Notice title="Page not found" action={{ label: "Open the playground", onClick: home }}>
        Check the address. It may be mistyped, or the page has moved.
      </Notice>
    </Layout>
  );
}
