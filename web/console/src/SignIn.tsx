import { Layout } from "./Layout.js";
import { TokenForm } from "./TokenForm.js";

/** Shown where the server does not know who is asking: it is there, so nothing is tried again. */
export function SignIn({ said }: { readonly said: string }) {
  return (
    <Layout tools={null}>
      <main className="notice sign-in" id="main">
        <div role="status">
          <h1>Sign in</h1>
          <p>{said}</p>
        </div>
        <TokenForm action="Sign in" />
      </main>
    </Layout>
  );
}
