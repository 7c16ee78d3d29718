/** All attacks, by their target. */

import type { AttackGroup } from "./attack.ts";
import { BODIES_AND_ANSWERS } from "./rows/bodies.ts";
import { FOLDS } from "./rows/folds.ts";
import { FRONT_DOOR } from "./rows/front_door.ts";
import { GUARDS } from "./rows/guards.ts";
import { OPERATORS } from "./rows/operators.ts";
import { PROJECTIONS } from "./rows/projections.ts";
import { QUERIES } from "./rows/queries.ts";
import { REACTIONS } from "./rows/reactions.ts";
import { SCHEMAS } from "./rows/schemas.ts";
import { SPECS } from "./rows/specs.ts";

export const ATTACK_GROUPS: readonly AttackGroup[] = [
  FRONT_DOOR,
  BODIES_AND_ANSWERS,
  FOLDS,
  GUARDS,
  REACTIONS,
  PROJECTIONS,
  QUERIES,
  SCHEMAS,
  SPECS,
  OPERATORS,
];
