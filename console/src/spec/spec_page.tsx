/** `#/spec`: what is deployed, and since when. */

import { hrefOf, place } from "../shell/router.ts";
import { SpecVersions } from "./spec_versions.tsx";

const TABS = [
  { name: "versions", title: "Versions", view: SpecVersions },
] as const;

export function SpecPage() {
  const [, name = TABS[0].name] = place.value.path;
  const tab = TABS.find((row) => row.name === name) ?? TABS[0];
  const View = tab.view;
  return (
    <>
      <h1>Spec</h1>
      <nav class="tabs" aria-label="Views of the spec">
        {TABS.map(({ name, title }) => (
          <a
            key={name}
            href={hrefOf(["spec", name])}
            aria-current={name === tab.name ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <View key={tab.name} />
    </>
  );
}
