/**
 * Slugs: the names of instances in host names.
 *
 * Hosts are `<slug>.<base>`, `<slug>-staging.<base>` and `<slug>-test.<base>`. A slug is
 * therefore one DNS label (RFC 1123) with room for the longest ending, and no slug can be read
 * as an environment of another.
 */

const SLUG = /^[a-z](?:[a-z0-9-]{0,40}[a-z0-9])?$/;
const ENVIRONMENT_ENDING = /-(?:staging|test)$/;
/** `api.<base>` is the host of operator calls. */
const RESERVED: ReadonlySet<string> = new Set(["api"]);

/** Says in one sentence what is wrong with a slug; undefined when nothing is. */
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
