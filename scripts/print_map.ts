/**
 * `deno task map`: prints every file of the product, folder by folder, each with the first sentence
 * of its header. The list is in no file, for it would change with most commits; that each file has
 * a header is checked by `check_style.ts`. With folders as arguments: those alone.
 */

import { drawMap } from "./checks/source_map.ts";
import { readSources } from "./checks/source_tree.ts";

const folders = Deno.args.filter((argument) => argument !== "--");
console.log(drawMap(await readSources(folders.length > 0 ? folders : ["src"])));
