import { RevealProvider, SignInAgainProvider, type Reveal } from "@sayso/react/components";
import { fetchSecret } from "@sayso/react/core";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { BrowserRouter, Navigate, Route, Routes, useNavigate } from "react-router";
import { serverFetch } from "./access.js";
import { rootPath, serverUrl } from "./base.js";
import { PersonalDrafts } from "./drafts.js";
import { ErrorPage } from "./ErrorPage.js";
import { InboxProvider } from "./inbox/InboxProvider.js";
import { Layout } from "./Layout.js";
import { Notice } from "./Notice.js";
import { PlaygroundPage } from "./playground/PlaygroundPage.js";
import { followOtherTabs, signInAgain, signInName, tellOtherTabs } from "./signIn.js";
import { keyOf, useWho, useWhoIsLate } from "./who.js";

const InboxPage = lazy(async () => ({
  default: (await import("./inbox/InboxPage.js")).InboxPage,
}));
const ThreadPage = lazy(async () => ({
  default: (await import("./thread/ThreadPage.js")).ThreadPage,
}));
const ThreadsPage = lazy(async () => ({
  default: (await import("./thread/ThreadsPage.js")).ThreadsPage,
}));
const TenantPage = lazy(async () => ({
  default: (await import("./audit/TenantPage.js")).TenantPage,
}));
const SettingsPage = lazy(async () => ({
  default: (await import("./settings/SettingsPage.js")).SettingsPage,
}));

const reveal: Reveal = (id, pointer) =>
  fetchSecret({ url: serverUrl(""), fetch: serverFetch }, id, pointer);

/** The console: its views and their addresses, below wherever the server is mounted. */
export function App() {
  return (
    <BrowserRouter basename={rootPath()}>
      <Session>
        <RevealProvider onReveal={reveal}>
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
                <Route path="trail" element={<TenantPage />} />
                <Route path="settings" element={<SettingsPage />} />
                <Route path="*" element={<Nowhere />} />
              </Routes>
            </Suspense>
          </ErrorPage>
        </RevealProvider>
      </Session>
    </BrowserRouter>
  );
}

/**
 * The session of whoever is there. For somebody else, or nobody, all of the page begins anew:
 * nothing that it held for one person is shown to another.
 */
function Session({ children }: { readonly children: ReactNode }) {
  const who = useWho();
  const isLate = useWhoIsLate();
  const key = who === undefined ? null : keyOf(who);
  const [unsent, setUnsent] = useState(false);
  useEffect(followOtherTabs, []);
  useEffect(() => {
    if (key !== null && key !== "" && signInName() !== null) tellOtherTabs("in");
  }, [key]);
  if (key === null) {
    return (
      <Notice title="Loading…">
        {isLate && "The server is slow: it has not said yet who is there. It is asked again."}
      </Notice>
    );
  }
  const page = (
    <PersonalDrafts key={key} person={key === "" ? null : key}>
      <InboxProvider
        onUnsent={() => {
          setUnsent(true);
        }}
      >
        {children}
      </InboxProvider>
    </PersonalDrafts>
  );
  const whole = (
    <>
      {page}
      <div className="unsent" role="status">
        {unsent && (
          <>
            <p>An answer was not sent, because the sign-in changed.</p>
            <button
              type="button"
              className="sayso-button sayso-small"
              onClick={() => {
                setUnsent(false);
              }}
            >
              Close
            </button>
          </>
        )}
      </div>
    </>
  );
  if (signInName() === null) return whole;
  return <SignInAgainProvider onSignIn={signInAgain}>{whole}</SignInAgainProvider>;
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
