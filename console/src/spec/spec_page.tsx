/** `#/spec`: what is deployed since when, and its way to the next version. */

import { hrefOf, place } from "../shell/router.ts";
import { SpecEditor } from "./spec_editor.tsx";
import { SpecVersions } from "./spec_versions.tsx";

const TABS = [
  { name: "versions", title: "Versions", view: SpecVersions },
  { name: "edit", title: "Edit and deploy", view: SpecEditor },
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
