/** The entry of the console: restores the session, asks where it is, and shows the pages. */

import { render } from "preact";
import { signal } from "@preact/signals";
import { about, readAbout } from "./shell/connection.ts";
import { Frame } from "./frame.tsx";
import { credentials, isSignedIn, restoreSession, sessionOf } from "./shell/session.ts";
import { SignIn } from "./sign_in.tsx";
import { applyTheme } from "./shell/theme.ts";

const isAway = signal(false);

function App() {
  if (isAway.value) {
    return (
      <main class="sign-in">
        <h1>Daybook</h1>
        <p class="note danger" role="alert">The server does not answer. Is it running?</p>
        <button type="button" onClick={ask}>Try again</button>
      </main>
    );
  }
  if (about.value === undefined) return <p class="quiet" role="status">Loading</p>;
  const now = credentials.value;
  if (!isSignedIn(now)) return <SignIn />;
  // Nothing that one session has loaded is shown to the next.
  return <Frame key={sessionOf(now)} about={about.value} />;
}

async function ask(): Promise<void> {
  isAway.value = false;
  try {
    await readAbout();
  } catch {
    isAway.value = true;
  }
}

restoreSession();
applyTheme();
render(<App />, document.querySelector("#app")!);
void ask();
