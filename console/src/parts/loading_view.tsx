/** Shows what was loaded: the value, the refusal, or that it is on its way. */

import type { ComponentChildren } from "preact";
import type { Loading } from "../shell/loaded.ts";
import { RefusalNote } from "./refusal_note.tsx";

export interface LoadingViewProps<Value> {
  readonly of: Loading<Value>;
  readonly children: (value: Value) => ComponentChildren;
}

export function LoadingView<Value>({ of, children }: LoadingViewProps<Value>) {
  const { value, refusal, isLoading } = of.now.value;
  if (refusal !== undefined) return <RefusalNote refusal={refusal} onRetry={of.reload} />;
  if (value === undefined) return <p class="quiet" role="status">Loading</p>;
  return <div aria-busy={isLoading}>{children(value)}</div>;
}
