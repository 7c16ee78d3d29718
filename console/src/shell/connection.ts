/**
 * The clients of the server that has sent this page, made from the credentials and the chosen
 * instance. All that the console reads and writes goes through them.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Client, createClient } from "@daybook/client";
import { type Admin, createAdmin, type Instance } from "@daybook/client/admin";
import { instanceInPlace, setQuery } from "./router.ts";
import { credentials, refuseKey, refuseToken } from "./session.ts";

export interface Connection {
  /** Reads data, with the key or with the token and the chosen instance. */
  readonly db: Client;
  /** Writes data; absent without a key, for no token may write. */
  readonly writer?: Client;
  /** Absent without an operator token. */
  readonly admin?: Admin;
  /** The instance that an operator has chosen. */
  readonly instanceId?: string;
}

/** What `GET /` says of the server at this address. */
export interface About {
  readonly name: string;
  readonly version: string;
  readonly environment: "production" | "staging" | "test";
}

/** A page waits no longer for an answer that may not come: a person can try again. */
const OPTIONS = { timeoutMs: 20_000, retries: 2 } as const;

const chosen = signal<{ readonly token?: string; readonly instanceId?: string }>({});

/** The instances of the token, as far as they are known. */
const covered = signal<readonly Instance[]>([]);

/** Where the address names no instance, the one of before is meant, else the first one. */
export function chooseInstance(token: string, instances: readonly Instance[]): void {
  covered.value = instances;
  const before = instanceInPlace.peek() ?? chosen.peek().instanceId;
  const isCovered = instances.some(({ id }) => id === before);
  chosen.value = { token, instanceId: isCovered ? before : instances[0]?.id };
}

function chosenFor(token: string): string | undefined {
  return chosen.value.token === token ? chosen.value.instanceId : undefined;
}

/** Puts the instance that is looked at into the address, so that it means the same to everybody. */
export function nameInstance(): void {
  const { instanceId } = connection.peek();
  if (instanceInPlace.peek() === undefined) setQuery({ instance: instanceId });
  else chosen.value = { token: credentials.peek().token, instanceId };
}

/** What is changed, for a question before it: the instance and the environment by their names. */
export const changedPlace: ReadonlySignal<string> = computed(() => {
  const { instanceId } = connection.value;
  const name = covered.value.find(({ id }) => id === instanceId)?.slug ?? instanceId;
  return `the instance ${name} in ${known.value?.environment}`;
});

/** Counts the times that this page has created or changed an instance. */
export const instancesChanged = signal(0);

export const connection: ReadonlySignal<Connection> = computed(() => {
  const { token, key } = credentials.value;
  const instanceId = token === undefined ? undefined : instanceInPlace.value ?? chosenFor(token);
  const url = location.origin;
  const withKey = key === undefined ? undefined : createClient({
    ...OPTIONS,
    url,
    key,
    fetch: watched((reason) => refuseKey(key, reason)),
  });
  if (token === undefined) return { db: withKey ?? createClient({ url }), writer: withKey };
  const fetch = watched((reason) => refuseToken(token, reason));
  return {
    db: createClient({ ...OPTIONS, url, key: token, instanceId, fetch }),
    writer: withKey,
    admin: createAdmin({ ...OPTIONS, url, token, instanceId, fetch }),
    instanceId,
  };
});

const REFUSED =
  "The server no longer accepts this token or key. It may have expired or been revoked.";

/** A credential that the server no longer accepts is used no more, and the user is told why. */
function watched(refuse: (reason: string) => void): typeof fetch {
  async function ask(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const response = await fetch(input, init);
    if (response.status === 401) refuse(REFUSED);
    return response;
  }
  return ask;
}

const known = signal<About | undefined>(undefined);

/** Undefined until the server has answered. */
export const about: ReadonlySignal<About | undefined> = known;

export async function readAbout(): Promise<void> {
  const response = await fetch(new URL("/", location.origin));
  known.value = await response.json() as About;
}
