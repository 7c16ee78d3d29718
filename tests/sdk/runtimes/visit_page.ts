/** Opens a page in a headless browser, and returns what its script found. */

const ANSWER_MS_MAX = 120_000;

/** `script` leaves its answer in `result`. The page is served from `localhost` and `port`. */
export async function visitPage<Result>(
  browser: string,
  { port, script }: { readonly port: number; readonly script: string },
): Promise<Result> {
  const { promise, resolve } = Promise.withResolvers<Result>();
  const server = Deno.serve({ hostname: "localhost", port, onListen() {} }, async (request) => {
    if (request.method === "POST") {
      resolve(await request.json());
      return new Response();
    }
    const isScript = new URL(request.url).pathname === "/page.js";
    const body = isScript
      ? told(script)
      : '<!doctype html><script type="module" src="/page.js"></script>';
    const type = isScript ? "text/javascript" : "text/html";
    return new Response(body, { headers: { "content-type": `${type}; charset=utf-8` } });
  });
  const profile = await Deno.makeTempDir({ prefix: "daybook_browser_" });
  const child = new Deno.Command(browser, {
    args: [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--no-first-run",
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      `http://localhost:${port}/`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the page has told nothing")), ANSWER_MS_MAX);
    });
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
    child.kill();
    await child.status;
    await server.shutdown();
    await Deno.remove(profile, { recursive: true }).catch(() => {});
  }
}

function told(script: string): string {
  return `${script}\nawait fetch("/", { method: "POST", body: JSON.stringify(result) });`;
}
