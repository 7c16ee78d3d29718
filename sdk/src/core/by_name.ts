/** Objects whose properties are made when they are asked for: aggregate types, event types. */

const NAME = /^[a-z][a-z0-9_]*$/;

/** The properties of `own`, and for every other type name what `make` gives. */
export function byName(own: object, make: (name: string) => unknown): object {
  const made = new Map<string, unknown>();
  return new Proxy(own, {
    get(target, name) {
      // A `then` would make a promise of it, which `await` would wait for.
      if (typeof name === "symbol" || name in target || name === "then" || !NAME.test(name)) {
        return Reflect.get(target, name);
      }
      if (!made.has(name)) made.set(name, make(name));
      return made.get(name);
    },
  });
}
