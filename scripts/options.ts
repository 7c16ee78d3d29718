/** The options of the programs that people run: they are checked, and listed by `--help`. */

import { Command, InvalidArgumentError, Option } from "commander";

const USAGE_EXIT_CODE = 2;
/** The largest seed or count. */
export const WHOLE_NUMBER_MAX = 2 ** 31 - 1;

/** A wrong option is named in a message, and ends the program with 2. */
export function taskCommand(task: string, description: string): Command {
  return new Command(`deno task ${task} --`)
    .description(description)
    .showHelpAfterError("(--help lists the options)")
    .exitOverride(({ exitCode }) => Deno.exit(exitCode === 0 ? 0 : USAGE_EXIT_CODE));
}

/** Leaves out the bare `--` that `deno task NAME -- ...` puts in front. */
export function readOptions<T extends object>(command: Command, args = Deno.args): T {
  return command.parse(args.filter((argument) => argument !== "--"), { from: "user" }).opts<T>();
}

/** For `.option(...)`: a number above 0. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  throw new InvalidArgumentError("It is a number above 0.");
}

/** For `.option(...)`: a whole number from 1 on, in the range of seeds and counts. */
export function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,9}$/.test(text) && Number(text) <= WHOLE_NUMBER_MAX) return Number(text);
  throw new InvalidArgumentError(`It is a whole number from 1 to ${WHOLE_NUMBER_MAX}.`);
}

/** For `.option(...)`: names separated by commas. */
export function nameList(text: string): string[] {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

/** `--seed`, which repeats a run; without it, a new seed is used. */
export function seedOption(): Option {
  const seed = 1 + Math.floor(Math.random() * WHOLE_NUMBER_MAX);
  return new Option("--seed <number>", "repeats a run").argParser(wholeNumber)
    .default(seed, "a new one");
}
