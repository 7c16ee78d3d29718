/**
 * The command line of Daybook. Each command lives in `src/cli/` and is imported only when it
 * runs, so `verify` does not load the server's code.
 */

import { Command } from "commander";

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

program.command("token")
  .description("Print an operator token for the deployment whose data folder or secret is set.")
  .option("--subject <name>", "who the token is for", "operator")
  .option("--instance <id...>", "only these instances (default: all)")
  .option("--hours <number>", "how long it lives, at most 24", "24")
  .action(async (options) => (await import("./src/cli/print_token.ts")).printToken(options));

program.command("user").description("Manage the accounts that may log in.")
  .command("add <email>")
  .description("Add an account that may log in. The password is asked for at the terminal.")
  .option("--password-stdin", "read the password from standard input")
  .action(async (email, options) =>
    (await import("./src/cli/add_user.ts")).addUserOrExit(email, options)
  );

program.command("export")
  .description("Write one environment to a file: specs, streams, keyed writes, API keys.")
  .option("--instance <slug>", "which instance (default: the only one)")
  .option("--environment <name>", "production, staging or test", "production")
  .requiredOption("--out <file>", "the file to make, or - for standard output")
  .option("--with-signing-keys", "also the instance's private signing keys")
  .action(async (options) =>
    (await import("./src/cli/export_environment.ts")).exportToFile(options)
  );

program.command("import <file>")
  .description("Bring a file made by export (- for standard input) into an empty environment.")
  .option("--instance <slug>", "into this instance (default: the one that the file names)")
  .option("--environment <name>", "into this environment (default: the one that the file names)")
  .action(async (file, options) =>
    (await import("./src/cli/import_environment.ts")).importFile(file, options)
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

await program.parseAsync(Deno.args, { from: "user" });
