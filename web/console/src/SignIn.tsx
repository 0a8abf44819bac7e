import { Layout } from "./Layout.js";
import { signInAddress, signInName } from "./signIn.js";
import { TokenForm } from "./TokenForm.js";

/** Shown where the server does not know who is asking: it is there, so nothing is tried again. */
export function SignIn({ said }: { readonly said: string }) {
  const name = signInName();
  return (
    <Layout tools={null}>
      <main className="notice sign-in" id="main">
        {name === null ? <WithToken said={said} /> : <At name={name} />}
      </main>
    </Layout>
  );
}

function WithToken({ said }: { readonly said: string }) {
  return (
    <>
      <div role="status">
        <h1>Sign in</h1>
        <p>{said}</p>
      </div>
      <TokenForm action="Sign in" />
    </>
  );
}

/** The way to where people sign in. */
function At({ name }: { readonly name: string }) {
  return (
    <>
      <div role="status">
        <h1>Sign in to continue</h1>
        <p>You come back to this page. What you have written is kept.</p>
      </div>
      <a className="sayso-button sayso-primary" href={signInAddress()}>
        Continue with {name}
      </a>
    </>
  );
}
