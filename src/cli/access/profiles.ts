/** `profiles`: lists them, chooses the current one, removes one. Credentials are never printed. */

import { ENVIRONMENTS } from "../../domain/tenant.ts";
import { didYouMean } from "../../domain/nearest_name.ts";
import { profilesOrExit } from "./login.ts";
import { openOutput, type Output } from "../terminal/output.ts";
import { type Profiles, profilesPath, writeProfiles } from "../connection/profiles_file.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";
import { showTable } from "../terminal/table.ts";

interface JsonOption {
  readonly json?: boolean;
}

export async function listProfiles(options: JsonOption): Promise<void> {
  const output = openOutput(options);
  const { folder, profiles } = await profilesOrExit(output);
  const file = profilesPath(folder);
  const rows = Object.entries(profiles.profiles).map(([name, profile]) => ({
    name,
    current: name === profiles.current,
    url: profile.url,
    environment: profile.environment ?? null,
    instance: profile.instance ?? null,
    token_expires_at: profile.token_expires_at ?? null,
    keys: ENVIRONMENTS.filter((each) => profile.keys?.[each] !== undefined),
  }));
  output.result({ file, profiles: rows }, () => {
    if (rows.length === 0) return "No profiles yet. Make one: daybook login --url <address>";
    const columns = ["", "name", "url", "environment", "token until", "keys"];
    const cells = rows.map(({ name, current, url, environment, token_expires_at, keys }) => [
      current ? "*" : "",
      name,
      url,
      environment,
      token_expires_at,
      keys.join(", "),
    ]);
    return `${showTable(columns, cells)}\n${output.paint("dim", file)}`;
  });
}

export async function useProfile(name: string, options: JsonOption): Promise<void> {
  const output = openOutput(options);
  const { folder, profiles } = await profilesOrExit(output);
  requireProfile(output, profiles, name);
  await writeProfiles(folder, { ...profiles, current: name });
  output.result({ profile: name }, () => `Commands use the profile '${name}' from now on.`);
}

export async function removeProfile(name: string, options: JsonOption): Promise<void> {
  const output = openOutput(options);
  const { folder, profiles } = await profilesOrExit(output);
  requireProfile(output, profiles, name);
  const { [name]: _, ...rest } = profiles.profiles;
  const current = profiles.current === name ? undefined : profiles.current;
  await writeProfiles(folder, { ...(current && { current }), profiles: rest });
  output.result({ profile: name }, () => `Removed the profile '${name}'.`);
}

function requireProfile(output: Output, { profiles }: Profiles, name: string): void {
  if (profiles[name] !== undefined) return;
  const names = Object.keys(profiles);
  const hint = didYouMean(name, names, `There are: ${names.join(", ") || "none"}.`);
  return output.fail(
    { error: `There is no profile '${name}'.`, error_type: "misused", hint },
    EXIT_MISUSED,
  );
}
