/**
 * Who asks the system for the addresses of names, and how many at a time. The runtime asks on
 * threads that it also writes and syncs files with, 32 of them, and a name service that is away
 * holds each for tens of seconds: without a bound here, listeners with such names would hold up
 * every write to the store.
 */

import { limits } from "../domain/limits.ts";
import type { Resolve, ResolvedAddress } from "./guard.ts";

export interface NameService {
  /** What asks for `owner`, an instance. A name that it asks for already is not asked for again. */
  of(owner: string): Resolve;
}

/** One name of one owner, on its way. */
interface Question {
  readonly owner: string;
  readonly name: string;
  readonly answer: PromiseWithResolvers<readonly ResolvedAddress[]>;
}

/** At most `nameLookupsMax` at a time, of one owner `nameLookupsPerInstanceMax`, in turn. */
export function openNameService(resolve: Resolve): NameService {
  const asked = new Map<string, Question>();
  /** In the order in which they came; there is one for each name of a listener at most. */
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
