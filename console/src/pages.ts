/**
 * The pages: their names, addresses and code, which is loaded when a page is first opened. A page
 * is a component that reads the rest of its address from `place`.
 */

import type { ComponentType } from "preact";
import { HomePage } from "./home/home_page.tsx";

export interface PageRow {
  /** The first segment of its address. */
  readonly segment: string;
  readonly title: string;
  /** Whether only operators can use it, for no API key may make its calls. */
  readonly operatorOnly?: boolean;
  readonly component: ComponentType | (() => Promise<ComponentType>);
  readonly isLazy?: true;
}

export const HOME = "";

/** In the order of the navigation. */
export const PAGES: readonly PageRow[] = [
  { segment: HOME, title: "Home", component: HomePage },
  {
    segment: "streams",
    title: "Streams",
    isLazy: true,
    component: async () => (await import("./streams/streams_page.tsx")).StreamsPage,
  },
  {
    segment: "write",
    title: "Write",
    isLazy: true,
    component: async () => (await import("./write/write_page.tsx")).WritePage,
  },
  {
    segment: "reactions",
    title: "Reactions",
    isLazy: true,
    component: async () => (await import("./reactions/reactions_page.tsx")).ReactionsPage,
  },
  {
    segment: "projections",
    title: "Projections",
    isLazy: true,
    component: async () => (await import("./projections/projections_page.tsx")).ProjectionsPage,
  },
  {
    segment: "spec",
    title: "Spec",
    operatorOnly: true,
    isLazy: true,
    component: async () => (await import("./spec/spec_page.tsx")).SpecPage,
  },
  {
    segment: "workbench",
    title: "Workbench",
    operatorOnly: true,
    isLazy: true,
    component: async () => (await import("./workbench/workbench_page.tsx")).WorkbenchPage,
  },
  {
    segment: "proof",
    title: "Proof",
    isLazy: true,
    component: async () => (await import("./proof/proof_page.tsx")).ProofPage,
  },
  {
    segment: "instances",
    title: "Instances",
    operatorOnly: true,
    isLazy: true,
    component: async () => (await import("./instances/instances_page.tsx")).InstancesPage,
  },
];
