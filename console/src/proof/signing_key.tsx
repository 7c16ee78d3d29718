/** The key that signs the anchors of the instance, and the one that this browser trusts. */

import { CopyButton } from "../parts/copy_button.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { pinKey, pinnedKey } from "../shell/pinned_key.ts";

export function SigningKeyView() {
  const { db } = connection.value;
  const key = useLoaded((signal) => db.$audit.signingKey({ signal }), [db]);
  const pinned = pinnedKey();
  return (
    <section class="card" aria-label="Signing key">
      <h2>Signing key</h2>
      <LoadingView of={key}>
        {({ public_key }) => (
          <>
            <p class="mono wrap">{public_key}</p>
            {pinned === undefined && (
              <p>
                Compare this key with one that you have from elsewhere. Once it is pinned, this
                browser accepts no evidence that another key has signed.
              </p>
            )}
            {pinned !== undefined && pinned === public_key && (
              <p class="note good">This key is pinned in this browser.</p>
            )}
            {pinned !== undefined && pinned !== public_key && (
              <p class="note danger" role="alert">
                The server shows another key than the pinned one,{" "}
                <code class="wrap">{pinned}</code>. The instance may have a new key, or this is not
                the server that you think it is. Ask its operator before you pin the new one.
              </p>
            )}
            <div class="row">
              <CopyButton text={public_key} label="Copy the key" />
              {pinned !== public_key && (
                <button type="button" onClick={() => pinKey(public_key)}>Pin this key</button>
              )}
              {pinned !== undefined && (
                <button type="button" onClick={() => pinKey(undefined)}>
                  Forget the pinned key
                </button>
              )}
            </div>
          </>
        )}
      </LoadingView>
    </section>
  );
}
