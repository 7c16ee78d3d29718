/** Asks for a key, a token or an account. Nothing of it is stored outside of this tab. */

import { signal } from "@preact/signals";
import { Field } from "./parts/field.tsx";
import { keptHere } from "./shell/kept_here.ts";
import { credentialsOf, signIn, signOutReason } from "./shell/session.ts";

const fault = signal<string | undefined>(undefined);
const isAsking = signal(false);

export function SignIn() {
  const kept = keptHere();
  return (
    <main class="sign-in" id="main">
      <h1>Daybook</h1>
      <p>See what is stored, understand why, act on it, and prove it.</p>
      {signOutReason.value !== undefined && <p class="note warning" role="alert">{signOutReason}
      </p>}
      {fault.value !== undefined && <p class="note danger" role="alert">{fault}</p>}
      <form class="card" aria-label="Key or token" onSubmit={signInWithText}>
        <Field label="API key or operator token" name="credential" type="password" required />
        <button type="submit" class="primary">Open</button>
        <p class="quiet">
          Both are in <code>credentials.json</code> in the data folder of the server. Or run{" "}
          <code>daybook open</code>, which brings the token along.
        </p>
      </form>
      <details>
        <summary>Log in with an account</summary>
        <form class="card" aria-label="Account" onSubmit={logIn}>
          <Field label="Email" name="email" type="email" autocomplete="username" required />
          <Field
            label="Password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
          />
          <button type="submit" disabled={isAsking.value}>Log in</button>
        </form>
      </details>
      {kept.length > 0 && (
        <p class="quiet">
          This browser keeps {kept.join(" and ")}{" "}
          of earlier sessions, also after signing out. To delete them, clear what it keeps of this
          site.
        </p>
      )}
    </main>
  );
}

function signInWithText(event: SubmitEvent): void {
  event.preventDefault();
  signIn(credentialsOf(textOf(event, "credential")));
}

async function logIn(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const body = { email: textOf(event, "email"), password: textOf(event, "password") };
  isAsking.value = true;
  fault.value = undefined;
  try {
    const response = await fetch(new URL("/api/login", location.origin), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (answer.ok) signIn({ token: answer.token });
    else fault.value = [answer.error, answer.hint].filter(Boolean).join(". ");
  } catch {
    fault.value = "The server does not answer. Is it running?";
  } finally {
    isAsking.value = false;
  }
}

function textOf(event: SubmitEvent, name: string): string {
  const value = new FormData(event.currentTarget as HTMLFormElement).get(name);
  return typeof value === "string" ? value : "";
}
