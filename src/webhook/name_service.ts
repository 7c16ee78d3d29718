/**
 * Limits how many host names are resolved at a time, overall and for each instance.
 *
 * The runtime resolves names on the same 32 threads that write and sync files, and an
 * unreachable name service blocks each of them for tens of seconds. Without this limit,
 * listeners with such names would hold up every write to the store.
 */

import { limits } from "../domain/limits.ts";
import type { Resolve, ResolvedAddress } from "./guard.ts";

export interface NameService {
  /** The resolver for `owner`, an instance. Concurrent lookups of one name share one query. */
  of(owner: string): Resolve;
}

/** A lookup of one name for one owner, waiting or running. */
interface Question {
  readonly owner: string;
  readonly name: string;
  readonly answer: PromiseWithResolvers<readonly ResolvedAddress[]>;
}

/**
 * Runs at most `nameLookupsMax` lookups at a time, `nameLookupsPerInstanceMax` per owner, in
 * order.
 */
export function openNameService(resolve: Resolve): NameService {
  const asked = new Map<string, Question>();
  /** In order of arrival; holds at most one entry for each name of a listener. */
  let waiting: Question[] = [];
  const running = new Map<string, number>();
  let count = 0;

  function ask(owner: string, name: string): Promise<readonly ResolvedAddress[]> {
    const key = JSON.stringify([owner, name]);
    const known = asked.get(key);
    if (known !== undefined) return known.answer.promise;
    const question = { owner, name, answer: Promise.withResolvers<readonly ResolvedAddress[]>() };
    asked.set(key, question);
    const forget = () => void asked.delete(key);
    question.answer.promise.then(forget, forget);
    waiting.push(question);
    startSome();
    return question.answer.promise;
  }

  function startSome(): void {
    const left: Question[] = [];
    for (const question of waiting) {
      const own = running.get(question.owner) ?? 0;
      if (count >= limits.nameLookupsMax || own >= limits.nameLookupsPerInstanceMax) {
        left.push(question);
      } else start(question);
    }
    waiting = left;
  }

  function start({ owner, name, answer }: Question): void {
    count++;
    running.set(owner, (running.get(owner) ?? 0) + 1);
    resolve(name).then(answer.resolve, answer.reject).finally(() => {
      count--;
      const own = running.get(owner)! - 1;
      if (own === 0) running.delete(owner);
      else running.set(owner, own);
      startSome();
    });
  }

  return { of: (owner) => (name) => ask(owner, name) };
}
