/**
 * The name of an instance in host names: `<slug>.<base>`, `<slug>-staging.<base>` and
 * `<slug>-test.<base>`. So it is one DNS label (RFC 1123) with room for the longest ending, and
 * no slug can be read as another's environment.
 */

const SLUG = /^[a-z](?:[a-z0-9-]{0,40}[a-z0-9])?$/;
const ENVIRONMENT_ENDING = /-(?:staging|test)$/;
/** `api.<base>` is where operator calls go. */
const RESERVED: ReadonlySet<string> = new Set(["api"]);

/** What is wrong with a slug, as a sentence; undefined when nothing is. */
export function explainSlug(slug: string): string | undefined {
  if (!SLUG.test(slug)) {
    return "slug must be 1 to 42 characters of a-z, 0-9 and '-', begin with a letter and not " +
      "end with '-'";
  }
  // A label with `--` in third place announces an encoding (RFC 5891, 4.2.3.1), as `xn--` does.
  if (slug.includes("--")) return "slug must not contain '--'";
  if (ENVIRONMENT_ENDING.test(slug)) {
    return "slug must not end with '-staging' or '-test': those endings name environments";
  }
  if (RESERVED.has(slug)) return `slug '${slug}' is reserved`;
  return undefined;
}
