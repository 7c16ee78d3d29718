/**
 * The command line of Daybook. Each command lives in `src/cli/` and is imported only when it
 * runs, so `verify` does not load the server's code.
 */

import { Command } from "commander";
import type { CommandShape } from "./src/cli/completion.ts";

const SETTINGS =
  "\nSettings are environment variables (DAYBOOK_PORT, DAYBOOK_DATA_DIR, ...): see docs/operate/settings.md";

const program = new Command("daybook")
  .description("An event-sourced backend: immutable events in, folded state out, proof included.")
  .addHelpText("after", SETTINGS)
  .showHelpAfterError("(--help lists commands and options)");

program.command("serve")
  .description("Run the server: production, staging and test, each on its own address.")
  .addHelpText("after", SETTINGS)
  .action(async () => (await import("./src/cli/serve.ts")).serve());

program.command("dev [file]")
  .description(
    "Run a server for development: an empty store, a watched spec, events to begin with.",
  )
  .option("--data <file>", "events to begin with: lines of JSON or a list")
  .option("--types <file>", "write the TypeScript types of the spec there after each deploy")
  .option("--keep <folder>", "keep the store in this folder")
  .option("--env <name>", "which environment gets the spec and the events", "test")
  .addHelpText("after", SETTINGS)
  .action(async (file, options) => (await import("./src/cli/dev.ts")).dev(file, options));

program.command("token")
  .description("Print an operator token for the deployment whose data folder or secret is set.")
  .option("--subject <name>", "who the token is for", "operator")
  .option("--instance <id...>", "only these instances (default: all)")
  .option("--hours <number>", "how long it lives, at most 24", "24")
  .action(async (options) => (await import("./src/cli/access/print_token.ts")).printToken(options));

program.command("user").description("Manage the accounts that may log in.")
  .command("add <email>")
  .description("Add an account that may log in. The password is asked for at the terminal.")
  .option("--password-stdin", "read the password from standard input")
  .action(async (email, options) =>
    (await import("./src/cli/access/add_user.ts")).addUserOrExit(email, options)
  );

program.command("export")
  .description("Write one environment to a file: specs, streams, keyed writes, API keys.")
  .option("--instance <slug>", "which instance (default: the only one)")
  .option("--environment <name>", "production, staging or test", "production")
  .requiredOption("--out <file>", "the file to make, or - for standard output")
  .option("--with-signing-keys", "also the instance's private signing keys")
  .option(
    "--format <format>",
    "events alone, from a running server: events, cloudevents or parquet",
  )
  .option("--since <cursor>", "only events behind this cursor, from a running server")
  .option("--projection <name>", "instead of events, the rows of a projection, as parquet")
  .option("--url <address>", "which server, for --format, --since and --projection")
  .option("--profile <name>", "which profile, for --format, --since and --projection")
  .action(async (options) =>
    [options.format, options.since, options.projection].some((option) => option !== undefined)
      ? (await import("./src/cli/transfer/export_events.ts")).exportEvents(options)
      : (await import("./src/cli/transfer/export_environment.ts")).exportToFile(options)
  );

remote(program, "backup")
  .description("Write the whole deployment as of one moment to one file, also while it runs.")
  .option("--out <file>", "the file to make, for its owner alone")
  .option("--verify <file>", "check a backup instead; asks no server and opens no store")
  .action(async (options) => (await import("./src/cli/backup/backup.ts")).backup(options));

program.command("restore [file]")
  .description("Make a deployment of a backup (- for standard input) in an empty data folder.")
  .option("--archive <folder>", "of the archive of a deployment instead: DAYBOOK_ARCHIVE_DIR")
  .option("--at <time>", "as of this time, e.g. 2026-11-26T12:00:00Z (default: the newest)")
  .option("--resume", "do not wait for daybook resume: react, deliver and anchor at the start")
  .option("--json", "print JSON, failures too")
  .action(async (file, options) =>
    (await import("./src/cli/backup/restore.ts")).restore(file, options)
  );

remote(program, "drill [file]")
  .description(
    "Restore a backup into a folder of its own, check it, and compare it with the server.",
  )
  .option("--archive <folder>", "an archive instead of a backup")
  .option("--at <time>", "as of this time (default: the newest)")
  .option("--metrics <file>", "also write the outcome for Prometheus")
  .action(async (file, options) =>
    (await import("./src/cli/backup/drill.ts")).drill(file, options)
  );

remote(program, "resume")
  .description("Let a restored deployment react, deliver and make anchors again.")
  .action(async (options) => (await import("./src/cli/backup/resume.ts")).resume(options));

program.command("import <file>")
  .description("Bring a file made by export (- for standard input) into an empty environment.")
  .option("--instance <slug>", "into this instance (default: the one that the file names)")
  .option("--environment <name>", "into this environment (default: the one that the file names)")
  .action(async (file, options) =>
    (await import("./src/cli/transfer/import_environment.ts")).importFile(file, options)
  );

const migrate = program.command("migrate").description("Move the events of another system in.");
migrate.command("plan <file>")
  .description("Say what a file holds, and what would become of it. Writes and asks nothing.")
  .option("--from <source>", "the system that the file is from: see docs/reference/migrate.md")
  .option("--map <file>", "what becomes what, instead of a draft")
  .option("--spec <file>", "check against this spec instead of a draft")
  .option("--out <folder>", "write the drafts there: map.json, spec.json and plan.json")
  .option("--json", "print JSON, failures too")
  .action(async (file, options) =>
    (await import("./src/cli/migrate/migrate_plan.ts")).planMigration(file, options)
  );
remote(migrate, "run <file>")
  .description("Move the events of a file in. After a kill, the same command goes on.")
  .option("--from <source>", "the system that the file is from")
  .option("--map <file>", "what becomes what, as a plan has drafted it")
  .option("--skip-refused", "leave out what would be refused, instead of stopping there")
  .option("--append", "also into an environment that has events")
  .option("--name <name>", "the name of the import (default: one that follows from the file)")
  .action(async (file, options) =>
    (await import("./src/cli/migrate/migrate_run.ts")).runMigration(file, options)
  );

program.command("verify <file>")
  .description("Check evidence offline: a bundle, a receipt, a page of events, or an export.")
  .option("--key <hex>", "the public key that must have signed the bundle or receipt")
  .option("--stream <key>", "the stream that it must be of, <type>:<id>")
  .option("--index <number>", "which event the bundle must be of, from 0")
  .option("--previous <hash>", "the hash of the event before the page")
  .action(async (file, options) =>
    (await import("./src/cli/verify_file.ts")).verifyFile(file, options)
  );

program.command("fsck")
  .description("Walk the whole store and check its evidence: chains, trees, counts, anchors.")
  .option("--all", "the trees of all anchors, not of the newest ones alone")
  .action(async (options) => (await import("./src/cli/fsck.ts")).fsck(options));

/** A command that calls a server; the options that all of these have. */
function remote(parent: Command, nameAndArguments: string): Command {
  return parent.command(nameAndArguments)
    .option("--env <name>", "which environment (default: that of the key or profile, else test)")
    .option("--url <address>", "which server (DAYBOOK_URL; default: the profile, or this machine)")
    .option("--profile <name>", "which profile (DAYBOOK_PROFILE): see daybook profiles")
    .option("--instance <slug>", "which instance, where the server has several")
    .option("--json", "print JSON, failures too");
}

remote(program, "deploy <file>")
  .description("Deploy a spec: JSON, JSON with comments, or a module that exports one.")
  .option("--dry-run", "say what would happen, and deploy nothing")
  .option("--check-data", "try the stored events first; deploy nothing if one would be refused")
  .option("--force", "deploy an incompatible spec; not in production")
  .option("--watch", "deploy again whenever the file changes")
  .action(async (file, options) =>
    (await import("./src/cli/spec/deploy.ts")).deploy(file, options)
  );

remote(program, "diff <file>")
  .description("Show what a spec would change, what that means, and whether it would be refused.")
  .option("--against <file>", "compare with this file instead of what is deployed; asks no server")
  .option("--no-check-data", "do not try the stored events")
  .option("--allow-changes", "exit with 0, not 3, if the spec differs and may be deployed")
  .addHelpText(
    "after",
    "\nExit codes: 0 the same, 3 differs and may be deployed, 4 would be refused,\n" +
      "1 no answer from the server, 2 wrong options or an unreadable file.",
  )
  .action(async (file, options) => (await import("./src/cli/spec/diff.ts")).diff(file, options));

const keys = program.command("keys").description("List, issue, rotate and revoke API keys.");
remote(keys, "list").description("List the API keys of an environment, never their text.")
  .action(async (options) => (await import("./src/cli/access/keys.ts")).listKeys(options));
remote(keys, "issue <name>").description("Issue an API key. Its text is shown once.")
  .option("--scope <scope>", "read or write", "write")
  .option("--save", "keep it in the profile, and do not show it")
  .action(async (name, options) =>
    (await import("./src/cli/access/keys.ts")).issueKey(name, options)
  );
remote(keys, "rotate <key>").description("Give a key (id or name) a new text; the old one ends.")
  .action(async (key, options) =>
    (await import("./src/cli/access/keys.ts")).rotateKey(key, options)
  );
remote(keys, "revoke <key>").description("End a key (id or name) now, or at a time.")
  .option("--at <time>", "ISO 8601 UTC, for example 2030-01-31T12:00:00Z")
  .action(async (key, options) =>
    (await import("./src/cli/access/keys.ts")).revokeKey(key, options)
  );

const events = program.command("events").description("List or follow events.");
remote(events, "list <key>").description("List the events of an aggregate, oldest first.")
  .option("--limit <number>", "how many at most", "100")
  .option("--start <id>", "begin behind this event")
  .option("--backwards", "the newest instead of the oldest")
  .action(async (key, options) =>
    (await import("./src/cli/data/events.ts")).listEvents(key, options)
  );
remote(events, "tail").description("Print every event of an environment as it is committed.")
  .option("--types <list>", "only these, e.g. order,product.was_added")
  .option("--from <place>", "start, now, or a cursor", "now")
  .option("--no-follow", "end when everything is printed")
  .action(async (options) => (await import("./src/cli/data/events.ts")).tailEvents(options));

remote(program, "state <key>").description("Print the state of an aggregate, <type>:<id>.")
  .option("--at-length <number>", "as it was after so many events")
  .option("--at <seconds>", "as it was at a time, in Unix seconds")
  .option("--live", "print it again after each change")
  .action(async (key, options) => (await import("./src/cli/data/state.ts")).state(key, options));

remote(program, "write <key> <event-type>").description("Write one event to <type>:<id>.")
  .option("--data <json>", "an object of JSON, @file, or - for standard input", "{}")
  .option("--actor <party>", "who writes, <type>:<id> (default: the spec's only actor type)")
  .option("--target <party>", "whom it is about, <type>:<id>")
  .option("--previous-length <number>", "refuse unless the aggregate has so many events")
  .option("--timestamp <seconds>", "when it happened, in Unix seconds; not in production")
  .option("--idempotency-key <text>", "a name of your own for this write")
  .action(async (key, type, options) =>
    (await import("./src/cli/data/write.ts")).write(key, type, options)
  );

remote(program, "sql <text>").description("Run a query over the projections; - reads it.")
  .option("--csv", "print CSV instead of a table")
  .option("--param <value...>", "values of ? in the query")
  .option("--stale", "accept the last good rows of broken projections")
  .action(async (text, options) => (await import("./src/cli/data/sql.ts")).sql(text, options));

remote(program, "types")
  .description("Write the TypeScript types of the deployed spec, or of a file.")
  .option("--spec <file>", "of this spec instead of the deployed one; asks no server")
  .option("--out <file>", "the file to write (default: standard output)")
  .option("--name <name>", "the name of the interface of all types", "Types")
  .option("--check", "write nothing; exit with 1 if the file is not current")
  .action(async (options) => (await import("./src/cli/spec/types_command.ts")).types(options));

remote(program, "reset")
  .description("Erase every aggregate of an environment; never of production.")
  .option("--yes", "do not ask")
  .action(async (options) => (await import("./src/cli/data/reset.ts")).reset(options));

remote(program, "open").description("Print the address of the console, and open it if possible.")
  .action(async (options) => (await import("./src/cli/open_console.ts")).openConsole(options));

program.command("login")
  .description("Log in to a server, and keep its address and token in a profile.")
  .option("--url <address>", "which server; asked for if it is not known")
  .option("--profile <name>", "under which name (default: the current one, else default)")
  .option("--email <address>", "which account; asked for at the terminal without it")
  .option("--password-stdin", "read the password from standard input")
  .option("--token-stdin", "keep an operator token that standard input has")
  .option("--key-stdin", "keep an API key that standard input has, for its environment")
  .option("--env <name>", "the environment of commands without --env")
  .option("--instance <slug>", "the instance, where the server has several")
  .option("--json", "print JSON, failures too")
  .action(async (options) => (await import("./src/cli/access/login.ts")).logInAndKeep(options));

program.command("logout").description("Remove the credentials of a profile.")
  .option("--profile <name>", "which one (default: the current one)")
  .option("--json", "print JSON, failures too")
  .action(async (options) => (await import("./src/cli/access/login.ts")).logout(options));

const profiles = program.command("profiles").description("List, choose and remove profiles.");
profiles.command("list", { isDefault: true }).description("List the profiles of this user.")
  .option("--json", "print JSON, failures too")
  .action(async (options) => (await import("./src/cli/access/profiles.ts")).listProfiles(options));
profiles.command("use <name>").description("Make a profile the current one.")
  .option("--json", "print JSON, failures too")
  .action(async (name, options) =>
    (await import("./src/cli/access/profiles.ts")).useProfile(name, options)
  );
profiles.command("remove <name>").description("Remove a profile with its credentials.")
  .option("--json", "print JSON, failures too")
  .action(async (name, options) =>
    (await import("./src/cli/access/profiles.ts")).removeProfile(name, options)
  );

program.command("completion <shell>")
  .description("Print the script that completes commands in bash, zsh or fish.")
  .action(async (shell) =>
    (await import("./src/cli/completion.ts")).printCompletion(shell, shapeOf(program, []))
  );

function shapeOf(command: Command, words: readonly string[]): CommandShape {
  return {
    words,
    description: command.description(),
    options: command.options.map(({ long, description, required }) => ({
      long: long!,
      description,
      takesValue: required,
    })),
    commands: command.commands.map((each) => shapeOf(each, [...words, each.name()])),
    takesFile: command.registeredArguments[0]?.name() === "file",
  };
}

await program.parseAsync(Deno.args, { from: "user" });
