/** The folder with the copies of projections: one file for each environment that is queried. */

const FOLDER_MODE = 0o700;
const FILE = /^([1-9][0-9]*)\.db$/;

/** Creates the folder if it does not exist. Throws if that fails. */
export async function makeCopyFolder(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: FOLDER_MODE });
}

export function copyPath(folder: string, tenant: number): string {
  return `${folder}/${tenant}.db`;
}

/** The numbers of the environments that have a file; none if there is no folder. */
export async function listCopies(folder: string): Promise<number[]> {
  const numbers: number[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const number = FILE.exec(name)?.[1];
      if (number !== undefined) numbers.push(Number(number));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return numbers;
}
