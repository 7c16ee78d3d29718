/**
 * What the console costs in Chromium, on a real server: how soon a view is there, and how long the
 * page's main thread works for one step of the slider or one frame.
 */

import { chromium, type Page } from "playwright-core";
import { buildConsole, isConsoleCurrent } from "../console/build_files.ts";
import {
  type ConsoleShop,
  openConsoleShop,
  untilLength,
} from "../../tests/console/shop/console_shop.ts";
import { CHROMIUM } from "../../tests/console/shop/open_page.ts";
import type { Row } from "./table.ts";

const FOLDER = "dist/console";
const STREAM = "10NG00001";
const EVENTS = 100_000;
const EVENTS_QUICK = 10_000;
const BATCH_EVENTS = 500;
const FIRST_VIEW_MS = 500;
const STREAM_VIEW_MS = 1_000;
const GRAPH_MS = 1_000;
const STEP_MS = 16;
const FRAME_MS = 16;
const STEPS = 50;
const FEED_EVENTS_PER_SECOND = 1_000;
const FEED_SECONDS = 5;
/** Folding all events takes no longer than that, even on a slow machine. */
const FOLD_MS_MAX = 120_000;

type Add = (row: Row) => void;

export async function measureConsole(isQuick: boolean, add: Add): Promise<void> {
  if (CHROMIUM === undefined) throw new Error("Chromium is not on the PATH: install it first");
  if (!await isConsoleCurrent(FOLDER)) await buildConsole(FOLDER);
  const shop = await openConsoleShop();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await measureFirstView(shop, page, add);
    await measureGraph(shop, page, add);
    const count = isQuick ? EVENTS_QUICK : EVENTS;
    await fillStream(shop, count);
    await measureStream(page, count, add);
    const watched = await watch(page);
    await measureSlider(watched, count, add);
    await measureFeed(shop, watched, add);
    await measureRows(watched, add);
  } finally {
    await browser.close();
    await shop.stop();
  }
}

async function measureFirstView(shop: ConsoleShop, page: Page, add: Add): Promise<void> {
  const address = `${shop.base}/_console/#token=${shop.token}`;
  const startedAt = performance.now();
  await page.goto(address);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  await page.getByRole("link", { name: "order", exact: true }).first().waitFor();
  add({
    name: "console, first view",
    value: performance.now() - startedAt,
    unit: "ms",
    target: { below: FIRST_VIEW_MS },
    note: "Home with its types, from an empty cache",
  });
}

async function fillStream({ db }: ConsoleShop, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH_EVENTS) {
    const events = Array.from({ length: BATCH_EVENTS }, (_, index) => ({
      type: "was_noted",
      data: { at: first + index, text: `note ${first + index}` },
    }));
    await db.order!(STREAM).batch(events).orThrow();
  }
}

async function measureStream(page: Page, count: number, add: Add): Promise<void> {
  const events = `${count.toLocaleString("en")} events`;
  let startedAt = performance.now();
  await openView(page, `/streams/order/${STREAM}`);
  await page.getByRole("link", { name: /^0 was_noted/ }).waitFor();
  add({
    name: `console, a stream of ${events}`,
    value: performance.now() - startedAt,
    unit: "ms",
    target: { below: STREAM_VIEW_MS },
    note: "until its first events are there",
  });
  startedAt = performance.now();
  await openView(page, `/streams/order/${STREAM}?view=states`);
  await page.getByText(`State after ${count} of`).waitFor();
  await page.getByText(`[${count}]`).waitFor();
  add({
    name: `console, the state after ${events}`,
    value: performance.now() - startedAt,
    unit: "ms",
    target: { below: STREAM_VIEW_MS },
    note: "a list of all of them, as the server folds it",
  });
  await page.getByRole("button", { name: "Which event set notes", exact: true })
    .waitFor({ timeout: FOLD_MS_MAX });
  add({
    name: `console, ${events} loaded and folded`,
    value: performance.now() - startedAt,
    unit: "ms",
    note: "in slices, while the page answers",
  });
}

/** The work of the main thread for single steps: to a neighbour, and to anywhere. */
async function measureSlider(watched: Watched, count: number, add: Add): Promise<void> {
  const middle = Math.floor(count / 2);
  const near = Array.from({ length: STEPS }, (_, step) => middle + step);
  const far = Array.from({ length: STEPS }, (_, step) => (step * 7_919 + 1) % count);
  for (const [name, lengths] of [["to the next event", near], ["to anywhere", far]] as const) {
    const times: number[] = [];
    for (const length of lengths) {
      times.push(await workOf(watched, () => slideTo(watched.page, length)));
    }
    times.sort((a, b) => a - b);
    add({
      name: `console, the slider ${name}`,
      value: times[Math.floor(STEPS * 0.95)]!,
      unit: "ms of work",
      target: { below: STEP_MS },
      note: `p95 of ${STEPS} steps; p50 ${times[STEPS / 2]!.toFixed(1)}, ` +
        `longest ${times.at(-1)!.toFixed(1)}`,
    });
  }
}

async function slideTo(page: Page, length: number): Promise<void> {
  const shown = await page.evaluate<string>(`(async () => {
    const slider = document.querySelector("#length");
    slider.value = ${length};
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await ${NEXT_FRAME};
    return document.querySelector("label[for=length]").textContent;
  })()`);
  if (!shown.startsWith(`State after ${length} of`)) throw new Error(`shown is: ${shown}`);
}

/** Milliseconds for which the main thread was busy while `act` ran. */
async function workOf({ busyMs }: Watched, act: () => Promise<void>): Promise<number> {
  const before = await busyMs();
  await act();
  return await busyMs() - before;
}

/** A page, and for how many milliseconds its main thread has been busy since it was opened. */
interface Watched {
  readonly page: Page;
  busyMs(): Promise<number>;
}

async function watch(page: Page): Promise<Watched> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  async function busyMs(): Promise<number> {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration")!.value;
  }
  return { page, busyMs };
}

/** Events that imply ten others each, three times in a row: more than a graph may have. */
const SPREAD_EACH = 10;
const SPREAD_LEVELS = 4;

function spreadType(): object {
  const eventOf = (level: number) => ({
    schema: { type: "object" },
    handler: [],
    implications: level === SPREAD_LEVELS ? [] : Array.from({ length: SPREAD_EACH }, () => ({
      emit: { aggregate_type: "spread", id: "main", event_type: `was_spread_${level + 1}` },
    })),
  });
  const levels = Array.from({ length: SPREAD_LEVELS }, (_, at) => at + 1);
  return { events: Object.fromEntries(levels.map((at) => [`was_spread_${at}`, eventOf(at)])) };
}

async function measureGraph({ db, admin }: ConsoleShop, page: Page, add: Add): Promise<void> {
  const { spec } = await admin.specs.current().orThrow();
  const { aggregate_types } = spec as { aggregate_types: object };
  await admin.deploy({ ...spec, aggregate_types: { ...aggregate_types, spread: spreadType() } })
    .orThrow();
  await db.spread!("main").was_spread_1!({}).orThrow();
  const all = Array.from({ length: SPREAD_LEVELS }, (_, at) => SPREAD_EACH ** at)
    .reduce((sum, events) => sum + events);
  await untilLength(db, "spread", "main", all);
  const startedAt = performance.now();
  await openView(page, "/streams/spread/main?event=0&view=causes");
  await page.getByText("1,000 things:").waitFor();
  await page.evaluate(NEXT_FRAME);
  add({
    name: "console, a graph of 1,000 nodes",
    value: performance.now() - startedAt,
    unit: "ms",
    target: { below: GRAPH_MS },
    note: "asked for, laid out and drawn, with its list",
  });
}

/** Runs in the page. */
const NEXT_FRAME =
  "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";

async function measureFeed({ db }: ConsoleShop, watched: Watched, add: Add): Promise<void> {
  const { page } = watched;
  await openView(page, "/");
  await page.getByRole("region", { name: "Live" }).waitFor();
  const frames = await page.evaluateHandle(COUNT_FRAMES);
  const work = await workOf(watched, async () => {
    const startedAt = performance.now();
    const batches = 10 * FEED_SECONDS;
    for (let batch = 0; batch < batches; batch++) {
      const events = Array.from({ length: FEED_EVENTS_PER_SECOND / 10 }, (_, at) => ({
        type: "was_noted",
        data: { batch, at },
      }));
      await db.order!(`FEED0000${batch % 8 + 1}`).batch(events).orThrow();
      const due = startedAt + (batch + 1) * 100;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    }
  });
  const drawn = await frames.evaluate((counter) => (counter as { count: number }).count);
  add({
    name: `console, a live feed of ${FEED_EVENTS_PER_SECOND} events/s`,
    value: work / Math.max(1, drawn),
    unit: "ms of work a frame",
    target: { below: FRAME_MS },
    note: `${Math.round(drawn / FEED_SECONDS)} frames/s`,
  });
}

const MANY_ROWS =
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) " +
  "SELECT i, i * 2 AS twice, 'row ' || i AS title, hex(i) AS code FROM n";

/** Scrolls through all rows of an answer, a part of them each frame. */
async function measureRows(watched: Watched, add: Add): Promise<void> {
  const { page } = watched;
  await openView(page, "/projections/sql");
  await page.getByRole("button", { name: "Add a cell" }).click();
  const cell = page.getByRole("region", { name: /^Cell/ }).last();
  await cell.getByRole("textbox").first().fill(MANY_ROWS);
  await cell.getByRole("textbox").first().press("Control+Enter");
  await cell.getByText("10,000 rows").waitFor();
  const work = await workOf(watched, async () => {
    await page.evaluate(SCROLL_ROWS);
  });
  await cell.getByText("row 10000", { exact: true }).waitFor();
  add({
    name: "console, scrolling through 10,000 rows of SQL",
    value: work / SCROLL_FRAMES,
    unit: "ms of work a frame",
    target: { below: FRAME_MS },
    note: `${SCROLL_FRAMES} frames, each with other rows`,
  });
}

const SCROLL_FRAMES = 120;
/** Runs in the page. */
const SCROLL_ROWS = `(async () => {
  const rows = [...document.querySelectorAll(".virtual")].at(-1);
  for (let frame = 1; frame <= ${SCROLL_FRAMES}; frame++) {
    rows.scrollTop = rows.scrollHeight * frame / ${SCROLL_FRAMES};
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
})()`;

/** Runs in the page: counts its frames from now on. */
const COUNT_FRAMES = `(() => {
  const counter = { count: 0 };
  const next = () => { counter.count++; requestAnimationFrame(next); };
  requestAnimationFrame(next);
  return counter;
})()`;

async function openView(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
}
