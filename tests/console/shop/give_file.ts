/** Gives the form for evidence a file or text: dropped as from a desktop, or chosen. */

import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";

/** Drops a text that was marked elsewhere, or, if it is empty, nothing. */
export async function dropText(page: Page, text: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.setData("text/plain", ${JSON.stringify(text)});
    const init = { dataTransfer, bubbles: true, cancelable: true };
    document.querySelector(".evidence").dispatchEvent(new DragEvent("drop", init));
  }`);
}

export async function dropFile(page: Page, text: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(text)}], "dropped.json"));
    const init = { dataTransfer, bubbles: true, cancelable: true };
    document.querySelector(".evidence").dispatchEvent(new DragEvent("drop", init));
  }`);
}

export async function chooseFile(page: Page, text: string, name = "chosen.json"): Promise<void> {
  await page.locator("input[type=file]").setInputFiles({
    name,
    mimeType: "application/json",
    buffer: Buffer.from(text),
  });
}
