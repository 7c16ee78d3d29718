/** Completion as shells compute it. Those that are not installed are skipped. */

import assert from "node:assert/strict";
import { runCli } from "../support/run_cli.ts";

function isInstalled(shell: string): boolean {
  return new Deno.Command("sh", { args: ["-c", `command -v ${shell}`] }).outputSync().success;
}

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await runCli(["completion", shell]);
  assert.equal(code, 0);
  return stdout;
}

async function shell(name: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(name, { args: [...args] }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  assert.equal(decoder.decode(stderr), "");
  return decoder.decode(stdout);
}

Deno.test("bash completes commands, sub-commands, options and values", async () => {
  const script = await scriptFor("bash");
  const cases = [
    [["dep"], "deploy"],
    [["keys", "r"], "rotate revoke"],
    [["events", "tail", "--ty"], "--types"],
    [["deploy", "x.json", "--env", "st"], "staging"],
    [["keys", "issue", "--scope", ""], "read write"],
    [["state", "--env", "test", "--at-"], "--at-length"],
    [["completion", "x", "--"], ""],
  ] as const;
  for (const [words, expected] of cases) {
    const line = `COMP_WORDS=(daybook ${words.map((word) => `'${word}'`).join(" ")})
      COMP_CWORD=${words.length}; _daybook; echo "\${COMPREPLY[*]}"`;
    const found = await shell("bash", ["--norc", "-c", `${script}\n${line}`]);
    assert.equal(found.trim(), expected, words.join(" "));
  }
});

async function withScript(name: string, body: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, await scriptFor(name));
    await body(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test({
  name: "fish completes commands, sub-commands, options and values",
  ignore: !isInstalled("fish"),
  fn: () =>
    withScript("fish", async (path) => {
      const cases = [
        ["dep", ["deploy"]],
        ["keys r", ["revoke", "rotate"]],
        ["events tail --ty", ["--types"]],
        ["deploy --env st", ["staging"]],
      ] as const;
      for (const [line, expected] of cases) {
        const command = `source ${path}; complete -C 'daybook ${line}'`;
        const found = (await shell("fish", ["--no-config", "-c", command])).trim().split("\n");
        assert.deepEqual(found.map((each) => each.split("\t")[0]).sort(), expected, line);
      }
    }),
});

Deno.test({
  name: "zsh computes commands, options and values",
  ignore: !isInstalled("zsh"),
  fn: () =>
    withScript("zsh", async (path) => {
      // What the completion system of an interactive shell would be given.
      const stand = `compdef() {}; compadd() { shift; print -r -- $@ }; _files() {}
        _describe() { print -rl -- \${(P)2} }; source ${path}
        words=(daybook keys r); CURRENT=3; _daybook
        words=(daybook deploy --env s); CURRENT=4; _daybook`;
      const found = (await shell("zsh", ["-f", "-c", stand])).trim().split("\n");
      assert.deepEqual(found.map((each) => each.split(":")[0]), [
        "list",
        "issue",
        "rotate",
        "revoke",
        "production staging test",
      ]);
    }),
});

Deno.test("the scripts for zsh and fish name every command and option of the help", async () => {
  const { stdout } = await runCli(["--help"]);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!)
    .filter((name) => name !== "help");
  assert.ok(commands.includes("deploy") && commands.includes("serve"));
  for (const name of ["zsh", "fish"]) {
    const script = await scriptFor(name);
    for (const command of commands) assert.match(script, new RegExp(`['" ]${command}[:' ]`), name);
    assert.match(script, /(?:--| -l )at-length/);
  }
});

Deno.test("an unknown shell is refused with the nearest one", async () => {
  const { code, stderr } = await runCli(["completion", "bsh"]);
  assert.equal(code, 2);
  assert.match(stderr, /Did you mean "bash"\?/);
});
