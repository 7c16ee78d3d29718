/** The keys of the instance, and below them what they vouch for. */

import type { ComponentChildren } from "preact";
import { LoadingView } from "../parts/loading_view.tsx";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import type { PinScope } from "../shell/pins.ts";
import { scopeOf, type SigningKeys } from "./key_rows.ts";
import { SigningKeyView } from "./signing_key.tsx";

export interface TrustedProps {
  readonly children?: (scope: PinScope) => ComponentChildren;
}

export function Trusted({ children }: TrustedProps) {
  const { db } = connection.value;
  const signing = useLoaded((signal) => db.$audit.signingKey({ all: true, signal }), [db]);
  return (
    <LoadingView of={signing}>
      {(value) => <Keys signing={value}>{children}</Keys>}
    </LoadingView>
  );
}

function Keys({ signing, children }: TrustedProps & { signing: SigningKeys }) {
  const { instanceId } = connection.value;
  const { environment } = about.value!;
  const scope = scopeOf(signing, { instanceId, environment });
  if (scope === undefined) {
    return (
      <p class="note danger" role="alert">
        The server names the key of another instance or environment than the one of this page, so
        nothing can be proven here. It names{" "}
        <bdi>{String(signing.instance_id)}, {String(signing.environment)}</bdi>.
      </p>
    );
  }
  return (
    <>
      <SigningKeyView signing={signing} scope={scope} />
      {children?.(scope)}
    </>
  );
}
