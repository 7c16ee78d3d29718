/** Which server the commands call, and as whom, as far as variables say. */

import { type Env, readVariables } from "../../config.ts";

export interface ClientSettings {
  readonly url?: string;
  readonly key?: string;
  readonly token?: string;
  readonly profile?: string;
  /** The folder of this program's files in the user's configuration; undefined without a home. */
  readonly folder?: string;
  /** Whether a setting says where the server on this machine listens. */
  readonly namesServer: boolean;
  /** Whether a setting says where its data folder is. */
  readonly namesData: boolean;
}

export function readClientSettings(env: Env = readVariables()): ClientSettings {
  const read = (name: string) => env[name]?.trim() || undefined;
  const home = read("HOME") ?? read("USERPROFILE");
  const folder = read("XDG_CONFIG_HOME") ?? read("APPDATA") ?? (home && `${home}/.config`);
  return {
    url: read("DAYBOOK_URL"),
    key: read("DAYBOOK_KEY"),
    token: read("DAYBOOK_TOKEN"),
    profile: read("DAYBOOK_PROFILE"),
    folder: folder && `${folder}/daybook`,
    namesServer: ["DAYBOOK_PORT", "DAYBOOK_HOST", "DAYBOOK_BASE_DOMAIN"].some((name) => read(name)),
    namesData: read("DAYBOOK_DATA_DIR") !== undefined,
  };
}
