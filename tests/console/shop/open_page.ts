/**
 * The console in Chromium: one browser and one server for the tests of a file. Whatever a page asks
 * of another origin is aborted and fails the test, and so does every error that it logs.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { buildConsole, isConsoleCurrent } from "../../../scripts/console/build_files.ts";
import { type ConsoleShop, openConsoleShop } from "./console_shop.ts";

/** The one without windows takes half the time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const FOLDER = "dist/console";
const ACTION_MS_MAX = 20_000;
/** What the pages look like, kept as artifacts of a run. */
const SCREENSHOTS = "dist/screenshots";

export const CHROMIUM = NAMES
  .flatMap((name) => (Deno.env.get("PATH") ?? "").split(":").map((folder) => join(folder, name)))
  .find(isFile);

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

export interface OpenConsole {
  readonly page: Page;
  readonly shop: ConsoleShop;
  /** Opens a view by what stands behind `#` in its address, such as `/streams/order`. */
  go(place: string): Promise<void>;
  /** Takes a picture of the page, kept as `<name>.png`. */
  picture(name: string): Promise<void>;
  /** Fails on faults of accessibility that are serious: in light, in dark, and 390 px wide. */
  checkAccess(): Promise<void>;
}

/** Who has signed in; `nobody` sees the form that asks for a key or token. */
export type As = "operator" | "writer" | "reader" | "nobody";

export interface ConsoleTestOptions {
  /** Default: an operator. */
  readonly as?: As;
  /** Whose console. Default: that of the test environment, which has the shop. */
  readonly environment?: "production";
  /** The size of the window in pixels. Default: 1280 by 800. */
  readonly width?: number;
  readonly height?: number;
}

export type ConsoleTest = (
  name: string,
  body: (console: OpenConsole) => Promise<void>,
  options?: ConsoleTestOptions,
) => void;

/**
 * For the top of a test file: starts what its tests share before the first of them. `prepare` may
 * add to the shop. Where there is no Chromium, the tests are skipped, and it says so.
 */
export function consoleTests(prepare?: (shop: ConsoleShop) => Promise<void>): ConsoleTest {
  if (CHROMIUM === undefined) {
    console.log(`SKIPPED: the console, for none of ${NAMES.join(", ")} is on the PATH`);
    return (name) => Deno.test({ name, ignore: true, fn() {} });
  }
  const shared: { browser?: Browser; shop?: ConsoleShop } = {};
  Deno.test.beforeAll(async () => {
    if (!await isConsoleCurrent(FOLDER)) await buildConsole(FOLDER);
    shared.browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    });
    shared.shop = await openConsoleShop();
    await prepare?.(shared.shop);
  });
  Deno.test.afterAll(async () => {
    await shared.browser?.close();
    await shared.shop?.stop();
  });
  return (name, body, options = {}) =>
    Deno.test({
      name,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: () => runTest({ browser: shared.browser!, shop: shared.shop! }, body, options),
    });
}

async function runTest(
  { browser, shop }: { browser: Browser; shop: ConsoleShop },
  body: (console: OpenConsole) => Promise<void>,
  { as = "operator", width = 1280, height = 800, environment }: ConsoleTestOptions,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height },
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(ACTION_MS_MAX);
  const faults: string[] = [];
  const base = environment === undefined ? shop.base : shop.server.baseUrls[environment];
  await keepInside(context, base, faults);
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(`an error was thrown: ${error.message}`));
  page.on("console", (message) => {
    // The browser logs every answer with a status from 400 on; pages show those themselves.
    if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
    faults.push(`an error was logged: ${message.text()}`);
  });
  try {
    const credential = credentialOf(shop, as);
    const fragment = credential === undefined ? "/" : `token=${credential}`;
    await page.goto(`${base}/_console/#${fragment}`);
    await page.locator("h1").first().waitFor();
    await body({
      page,
      shop,
      go: (place) => goTo(page, place),
      picture: (name) => takePicture(page, name),
      checkAccess: () => checkAccess(page),
    });
    assert.deepEqual(faults, []);
  } catch (error) {
    await takePicture(page, "failed").catch(() => undefined);
    throw error;
  } finally {
    await context.close();
  }
}

async function keepInside(context: BrowserContext, base: string, faults: string[]): Promise<void> {
  await context.route((url) => !url.href.startsWith(`${base}/`), async (route) => {
    const url = route.request().url();
    if (url.startsWith("data:") || url.startsWith("blob:")) return await route.continue();
    faults.push(`the page asked for ${url}`);
    await route.abort();
  });
}

function credentialOf(shop: ConsoleShop, as: As): string | undefined {
  switch (as) {
    case "operator":
      return shop.token;
    case "writer":
      return shop.writeKey;
    case "reader":
      return shop.readKey;
    case "nobody":
      return undefined;
  }
}

async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => location.hash = hash, `#${place}`);
  await page.locator("h1").first().waitFor();
}

export async function takePicture(page: Page, name: string): Promise<void> {
  await Deno.mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}

/** How a page may look: each is checked. The dark one differs from the light one in colours. */
const LOOKS = [
  { theme: "light", width: 1280, rule: undefined },
  { theme: "dark", width: 1280, rule: "color-contrast" },
  { theme: "light", width: 390, rule: undefined },
] as const;

export async function checkAccess(page: Page): Promise<void> {
  const size = page.viewportSize()!;
  if (!await page.evaluate(() => "axe" in globalThis)) {
    // Not as an element of the page, for its policy allows no script from elsewhere.
    await page.evaluate(axe.source);
  }
  for (const { theme, width, rule } of LOOKS) {
    await page.setViewportSize({ width, height: size.height });
    await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`);
    const found = await page.evaluate(findFaults, rule);
    assert.deepEqual(found, [], `faults of accessibility: ${theme}, ${width} px`);
    const overhang = await page.evaluate<number>(OVERHANG);
    assert.ok(overhang <= 0, `the page is ${overhang} px wider than ${width} px`);
  }
  await page.setViewportSize(size);
}

/** Run in the page. By how many pixels it is wider than its window. */
const OVERHANG = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** Runs in the page. @param rule the one to check; all if undefined. */
async function findFaults(rule?: string): Promise<string[]> {
  const options = rule === undefined ? {} : { runOnly: [rule] };
  // deno-lint-ignore no-explicit-any
  const { violations } = await (globalThis as any).axe.run(options);
  return violations
    // deno-lint-ignore no-explicit-any
    .filter(({ impact }: any) => impact === "serious" || impact === "critical")
    // deno-lint-ignore no-explicit-any
    .map(({ id, nodes }: any) => `${id}: ${nodes.map(({ html }: any) => html).slice(0, 3)}`);
}
