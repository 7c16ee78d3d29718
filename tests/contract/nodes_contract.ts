/**
 * WHAT SEVERAL NODES OVER ONE STORE MUST KEEP, as tests. See `nodes_sqlite_test.ts` for how an
 * engine joins. Each suite runs twice: with watches, and with a node whose watches never fire.
 */

import { deafEngine, type OpenNodes, type TwoNodes, withTwoNodes } from "../support/two_nodes.ts";
import { nodesCacheContract } from "./nodes_cache_contract.ts";
import { nodesGuardContract } from "./nodes_guard_contract.ts";
import { nodesOutageContract } from "./nodes_outage_contract.ts";
import { nodesWorkContract } from "./nodes_work_contract.ts";
import { nodesWriteContract } from "./nodes_write_contract.ts";

/** How often a node without watches polls. */
const DEAF_MS = 1_000;

/** Registers all tests of several nodes for one engine. */
export function nodesContract(name: string, open: OpenNodes): void {
  function test(what: string, body: (nodes: TwoNodes) => Promise<void>): void {
    Deno.test(`${name}, two nodes: ${what}`, () => withTwoNodes(open, body));
  }
  function deafTest(what: string, body: (nodes: TwoNodes) => Promise<void>): void {
    Deno.test(
      `${name}, two nodes, one deaf: ${what}`,
      () => withTwoNodes(open, body, { wrapB: deafEngine }),
    );
  }
  nodesWriteContract(test);
  nodesGuardContract(test);
  nodesGuardContract(deafTest);
  nodesCacheContract(test, 0);
  nodesCacheContract(deafTest, DEAF_MS);
  nodesWorkContract(test);
  nodesOutageContract(name, open);
}
