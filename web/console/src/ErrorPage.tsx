import { Component, type ReactNode } from "react";
import { useLocation } from "react-router";
import { Layout } from "./Layout.js";
import { Notice } from "./Notice.js";

/**
 * Stands in for a view that could not be loaded or drawn. Views are files of their own: one that
 * was open while the server got another version no longer finds those that it had not loaded.
 */
export function ErrorPage({ children }: { readonly children: ReactNode }) {
  const { pathname } = useLocation();
  return <Boundary key={pathname.split("/")[1]}>{children}</Boundary>;
}

class Boundary extends Component<
  { readonly children: ReactNode },
  { readonly error: Error | null }
> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { readonly error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Layout tools={null}>
        <Notice title="This page did not load" action={{ label: "Reload the page", onClick }}>
          The server may be down, or have a new version. Your drafts are kept. ({error.message})
        </Notice>
      </Layout>
    );
  }
}

function onClick(): void {
  window.location.reload();
}
