/** `completion`: prints the script with which a shell completes commands, options and values. */

import { didYouMean } from "../domain/nearest_name.ts";
import { print } from "./terminal/print.ts";
import { EXIT_MISUSED, exitWith } from "./terminal/settings.ts";

/** A command as the help describes it. */
export interface CommandShape {
  /** The words that call it, after the program's name; empty for the program itself. */
  readonly words: readonly string[];
  readonly description: string;
  readonly options: readonly OptionShape[];
  readonly commands: readonly CommandShape[];
  /** Whether its first argument is a file. */
  readonly takesFile: boolean;
}

export interface OptionShape {
  readonly long: string;
  readonly description: string;
  readonly takesValue: boolean;
}

/** Values that an option may have; other options that take a value take a file or a text. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "--env": ["production", "staging", "test"],
  "--environment": ["production", "staging", "test"],
  "--scope": ["read", "write"],
  "--from": ["start", "now"],
};
const WRITERS: Readonly<Record<string, (root: CommandShape) => string>> = {
  bash: forBash,
  zsh: forZsh,
  fish: forFish,
};

export function printCompletion(shell: string, root: CommandShape): void {
  const write = WRITERS[shell];
  if (write !== undefined) return print(write(root));
  const shells = Object.keys(WRITERS);
  const hint = didYouMean(shell, shells, `There are: ${shells.join(", ")}.`);
  exitWith(EXIT_MISUSED, `error: There is no completion for '${shell}'. ${hint}`);
}

function allCommands(root: CommandShape): CommandShape[] {
  return [root, ...root.commands.flatMap(allCommands)];
}

/** What may follow the words of a command. */
function nextWords({ commands, options }: CommandShape): string[] {
  return [...commands.map(({ words }) => words.at(-1)!), ...options.map(({ long }) => long)];
}

/** For each option with known values: a pattern and the values. */
function valueCases(): [option: string, values: string][] {
  return Object.entries(VALUES).map(([option, values]) => [option, values.join(" ")]);
}

function forBash(root: CommandShape): string {
  const cases = allCommands(root).map((command) => {
    const files = command.takesFile ? " files=1" : "";
    return `    "${command.words.join(" ")}") next="${nextWords(command).join(" ")}"${files} ;;`;
  });
  const parents = allCommands(root).filter(({ commands }) => commands.length > 0)
    .map(({ words, commands }) =>
      `      "${words.join(" ")}") subs=" ${
        commands.map((each) => each.words.at(-1)).join(" ")
      } " ;;`
    );
  return `# Completion of daybook for bash. Put this into ~/.bashrc:
#   source <(daybook completion bash)
_daybook() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local path="" word subs next="" files=0 at
  case "$before" in
${valueCases().map(([option, values]) => `    ${option}) next="${values}" ;;`).join("\n")}
  esac
  if [[ -n "$next" ]]; then
    COMPREPLY=($(compgen -W "$next" -- "$current"))
    return
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    subs=" "
    case "$path" in
${parents.join("\n")}
    esac
    [[ "$subs" == *" $word "* ]] && path="\${path:+$path }$word"
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$next" -- "$current"))
  if [[ $files == 1 && "$current" != -* ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _daybook daybook
`;
}

function forZsh(root: CommandShape): string {
  const cases = allCommands(root).map(({ words, commands, options, takesFile }) => {
    const described = [
      ...commands.map((each) => [each.words.at(-1)!, each.description]),
      ...options.map(({ long, description }) => [long, description]),
    ].map(([name, text]) => `'${name}:${quoted(text!)}'`);
    return `    "${words.join(" ")}") next=(${described.join(" ")}); files=${takesFile ? 1 : 0} ;;`;
  });
  const parents = allCommands(root).filter(({ commands }) => commands.length > 0)
    .map(({ words, commands }) =>
      `      "${words.join(" ")}") subs=" ${
        commands.map((each) => each.words.at(-1)).join(" ")
      } " ;;`
    );
  return `#compdef daybook
# Completion of daybook for zsh. Put this into ~/.zshrc, after compinit:
#   source <(daybook completion zsh)
_daybook() {
  local current_path="" word subs files=0 at
  local -a next values
  case "\${words[CURRENT-1]}" in
${valueCases().map(([option, values]) => `    ${option}) values=(${values}) ;;`).join("\n")}
  esac
  if (( \${#values} )); then
    compadd -- $values
    return
  fi
  for ((at = 2; at < CURRENT; at++)); do
    word="\${words[at]}"
    subs=" "
    case "$current_path" in
${parents.join("\n")}
    esac
    [[ "$subs" == *" $word "* ]] && current_path="\${current_path:+$current_path }$word"
  done
  case "$current_path" in
${cases.join("\n")}
  esac
  _describe daybook next
  (( files )) && _files
}
compdef _daybook daybook
`;
}

/** For a word in single quotes in which a colon ends a name. */
function quoted(text: string): string {
  return text.replaceAll("'", "'\\''").replaceAll(":", "\\:");
}

function forFish(root: CommandShape): string {
  const lines = allCommands(root).flatMap(({ words, commands, options, takesFile }) => {
    const condition = words.length === 0
      ? "__fish_use_subcommand"
      : words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const names = commands.map((each) => each.words.at(-1)!);
    const notYet = names.length > 0 && words.length > 0
      ? `; and not __fish_seen_subcommand_from ${names.join(" ")}`
      : "";
    const start = `complete -c daybook -n '${condition}${notYet}'`;
    return [
      ...commands.map((each) =>
        `${start} -f -a ${each.words.at(-1)} -d '${fishQuoted(each.description)}'`
      ),
      ...options.map(({ long, description, takesValue }) => {
        const values = VALUES[long];
        const value = values ? ` -x -a '${values.join(" ")}'` : takesValue ? " -r" : "";
        return `${start} -l ${long.slice(2)}${value} -d '${fishQuoted(description)}'`;
      }),
      ...(takesFile ? [`${start} -F`] : []),
    ];
  });
  return `# Completion of daybook for fish. Put this into ~/.config/fish/config.fish:
#   daybook completion fish | source
complete -c daybook -f
${lines.join("\n")}
`;
}

function fishQuoted(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
