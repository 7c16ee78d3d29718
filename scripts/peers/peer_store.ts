/** The interface of a peer's store for the bench. What a promise confirms is durable. */

export interface PeerEvent {
  readonly type: string;
  /** Parsed JSON. */
  readonly data: unknown;
  readonly metadata: unknown;
}

export interface PeerTarget {
  readonly stream: string;
  readonly events: readonly PeerEvent[];
}

export interface PeerStore {
  /**
   * Appends to the end of the stream, whatever its length; returns the index of the first
   * event.
   */
  append(stream: string, events: readonly PeerEvent[]): Promise<number>;
  /** All or nothing; left out if the peer cannot do it. */
  appendToMany?(targets: readonly PeerTarget[]): Promise<void>;
  /** `data` of all events of the stream, in order; left out if no work needs it. */
  read?(stream: string): Promise<readonly unknown[]>;
  /**
   * Names of streams that begin with `prefix`, in order, after `after`; left out if no work
   * needs it.
   */
  list?(prefix: string, after: string, limit: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Where the peer is, as its `start` has found out. */
export type Connection = Readonly<Record<string, string>>;

export type StoreName =
  | "message_db"
  | "postgres_table"
  | "emmett_postgres"
  | "emmett_sqlite"
  | "redis_streams"
  | "nats_jetstream";

/** Opens the store of that name; it creates its tables if they are missing. */
export async function openPeerStore(name: StoreName, connection: Connection): Promise<PeerStore> {
  const { openStore } = await import(`./stores/${name}.ts`);
  return await openStore(connection);
}
