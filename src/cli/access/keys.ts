/** `keys`: lists, issues, rotates and revokes the API keys of an instance. */

import type { JsonObject } from "../../domain/json.ts";
import { readClientSettings } from "../connection/client_settings.ts";
import { readProfiles, withProfile, writeProfiles } from "../connection/profiles_file.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";
import { showTable } from "../terminal/table.ts";

const PAGE = 200;

interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly environment: string;
  readonly created_at: string;
  readonly revoke_at?: string;
}

export async function listKeys(options: CommonOptions): Promise<void> {
  const session = await openSession(options);
  const keys = await allKeys(session);
  const { environment, output } = session;
  output.result({ environment, keys }, () => {
    if (keys.length === 0) {
      return `${environment} has no API keys. Issue one: daybook keys issue ci`;
    }
    const rows = keys.map(({ id, name, scope, created_at, revoke_at }) => [
      id,
      name,
      scope,
      created_at,
      revoke_at ?? null,
    ]);
    return showTable(["id", "name", "scope", "created_at", "revoke_at"], rows);
  });
}

async function allKeys(session: Session): Promise<KeyRecord[]> {
  const path = `/api/instances/${await session.instanceId()}/keys`;
  const keys: KeyRecord[] = [];
  let start: string | undefined;
  do {
    const query = { environment: session.environment, limit: PAGE, start };
    const page = await session.operator({ path, query });
    keys.push(...page.data as unknown as KeyRecord[]);
    start = page.next_start as string | undefined;
  } while (start !== undefined);
  return keys;
}

export interface IssueOptions extends CommonOptions {
  readonly scope: string;
  readonly save?: boolean;
}

export async function issueKey(name: string, options: IssueOptions): Promise<void> {
  const session = await openSession(options);
  const { environment, output } = session;
  const answer = await session.operator({
    method: "POST",
    path: `/api/instances/${await session.instanceId()}/keys`,
    body: { name, scope: options.scope, environment },
  });
  const saved = options.save ? await saveKey(session, String(answer.key)) : undefined;
  const { ok: _, ...record } = answer;
  output.result({ ...record, ...(saved && { saved_in: saved }) }, () => {
    if (saved !== undefined) return `Issued ${record.id}, and kept it in ${saved}.`;
    return shownOnce(record, `Issued a ${record.scope} key for ${environment}`);
  });
}

/** The text of a key alone on a line, so that it is easy to copy. */
function shownOnce(record: JsonObject, what: string): string {
  return `${what}: ${record.id}. It is shown only now:\n\n${record.key}\n`;
}

async function saveKey({ server, environment, output }: Session, key: string): Promise<string> {
  const { folder } = readClientSettings();
  const { profile } = server;
  if (folder === undefined || profile === undefined) {
    return output.fail({
      error: "The key was issued, but there is no profile to keep it in.",
      error_type: "misused",
      hint: `Make one with: daybook login --url <address>. The key, shown only now: ${key}`,
    }, EXIT_MISUSED);
  }
  const profiles = withProfile(await readProfiles(folder), profile, (before) => ({
    ...before!,
    keys: { ...before!.keys, [environment]: key },
  }));
  await writeProfiles(folder, profiles);
  return `profile '${profile}'`;
}

export interface RevokeOptions extends CommonOptions {
  /** When it ends, ISO 8601 UTC; now without it. */
  readonly at?: string;
}

export async function revokeKey(key: string, options: RevokeOptions): Promise<void> {
  const session = await openSession(options);
  const id = await idOf(session, key);
  const { at } = options;
  if (at === undefined) {
    await session.operator({ method: "DELETE", path: `/api/keys/${id}` });
    return session.output.result({ id, revoked: true }, () => `Revoked ${id}.`);
  }
  const path = `/api/keys/${id}/schedule_revocation`;
  const { ok: _, ...record } = await session.operator({
    method: "POST",
    path,
    body: { revoke_at: at },
  });
  session.output.result(record, () => `${id} stops working at ${record.revoke_at}.`);
}

export async function rotateKey(key: string, options: CommonOptions): Promise<void> {
  const session = await openSession(options);
  const id = await idOf(session, key);
  const path = `/api/keys/${id}/rotate`;
  const { ok: _, ...record } = await session.operator({ method: "POST", path, body: {} });
  session.output.result(record, () => shownOnce(record, "The old text has stopped working"));
}

/** Takes an id or a name; a name must be that of one key only. */
async function idOf(session: Session, key: string): Promise<string> {
  if (/^key_[0-9a-f]+$/.test(key)) return key;
  const { environment, output } = session;
  const named = (await allKeys(session)).filter(({ name }) => name === key);
  if (named.length === 1) return named[0]!.id;
  return output.fail({
    error: named.length === 0
      ? `${environment} has no key of the id or name '${key}'.`
      : `${environment} has ${named.length} keys with the name '${key}'.`,
    error_type: "misused",
    hint: named.length === 0
      ? "List them with: daybook keys list"
      : `Name one by its id: ${named.map(({ id }) => id).join(", ")}`,
  }, EXIT_MISUSED);
}
