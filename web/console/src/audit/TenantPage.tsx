import { useState } from "react";
import { Link } from "react-router";
import { Layout } from "../Layout.js";
import { SignIn } from "../SignIn.js";
import { useTitle } from "../title.js";
import { Trail } from "./Trail.js";

/** What belongs to no conversation, for auditors. */
export function TenantPage() {
  useTitle(0, "Audit trail");
  const [denied, setDenied] = useState<string | null>(null);
  if (denied !== null) return <SignIn said={denied} />;
  return (
    <Layout tools={null}>
      <main className="threads" id="main">
        <h1>Of this tenant</h1>
        <p className="audit-intro">
          What belongs to no conversation: who signed in and out, who took the audit trail out,
          which tokens services have, which approvals are no longer remembered. Each conversation
          has a trail of its own, at the foot of <Link to="/thread">its page</Link>.
        </p>
        <section aria-label="Audit trail of this tenant">
          <Trail whose={null} onDenied={setDenied} />
        </section>
      </main>
    </Layout>
  );
}
