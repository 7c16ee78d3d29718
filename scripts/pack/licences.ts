/** The licences of the packages that are inside, as their authors want them passed on. */

/** `packages`: `name/version`, as they lie in the runtime's cache. */
export async function licencesOf(packages: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const one of packages) {
    const folder = `${await cacheFolder()}/registry.npmjs.org/${one}`;
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    const licence = names.find((name) => /^licen[cs]e/i.test(name));
    if (licence === undefined) throw new Error(`${one} has no licence`);
    const text = await Deno.readTextFile(`${folder}/${licence}`);
    texts.push(`${one}\n\n${text.trim()}\n`);
  }
  const head = "Parts of these packages are inside @daybook/client/test. Their licences:\n";
  return [head, ...texts].join(`\n${"-".repeat(80)}\n\n`);
}

let cache: Promise<string> | undefined;

function cacheFolder(): Promise<string> {
  return cache ??= new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output()
    .then(({ stdout }) => JSON.parse(new TextDecoder().decode(stdout)).npmCache as string);
}
