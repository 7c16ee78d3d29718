/**
 * Which characters an internationalized label may contain: RFC 5892.
 *
 * The rules are derived from the engine's Unicode data. Viramas and joining types, which the
 * engine does not expose, are listed here.
 */

/** Exceptions that apply whatever the category (RFC 5892, section 2.6). */
const VALID = /[\u{df}\u{3c2}\u{6fd}\u{6fe}\u{f0b}\u{3007}]/u;
const DISALLOWED = /[\u{640}\u{7fa}\u{302e}\u{302f}\u{3031}-\u{3035}\u{303b}]/u;
const OLD_JAMO = /[\u{1100}-\u{11ff}\u{a960}-\u{a97f}\u{d7b0}-\u{d7ff}]/u;
const IGNORED = /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Noncharacter_Code_Point}]/u;
const IGNORED_BLOCKS = /[\u{20d0}-\u{20ff}\u{1d100}-\u{1d24f}]/u;
const LETTER_OR_DIGIT = /[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]/u;

/** True for characters that are allowed anywhere in a label. */
export function isValidAnywhere(character: string): boolean {
  if (/^[-a-z0-9]$/.test(character)) return true;
  if (VALID.test(character)) return true;
  if (DISALLOWED.test(character) || OLD_JAMO.test(character)) return false;
  if (IGNORED.test(character) || IGNORED_BLOCKS.test(character)) return false;
  const folded = character.normalize("NFKC").toLowerCase().normalize("NFKC");
  return folded === character && LETTER_OR_DIGIT.test(character);
}

type Rule = (characters: readonly string[], index: number) => boolean;

/** Characters that depend on their neighbours (RFC 5892, appendix A). */
const CONTEXT: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["\u200c", (all, index) => isAfterVirama(all, index) || isBetweenJoined(all, index)],
  ["\u200d", isAfterVirama],
  ["\u00b7", (all, index) => all[index - 1] === "l" && all[index + 1] === "l"],
  ["\u0375", (all, index) => /\p{sc=Greek}/u.test(all[index + 1] ?? "")],
  ["\u05f3", (all, index) => /\p{sc=Hebrew}/u.test(all[index - 1] ?? "")],
  ["\u05f4", (all, index) => /\p{sc=Hebrew}/u.test(all[index - 1] ?? "")],
  ["\u30fb", (all) => /[\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Han}]/u.test(all.join(""))],
]);

const ARABIC_DIGIT = /[\u0660-\u0669]/;
const EXTENDED_ARABIC_DIGIT = /[\u06f0-\u06f9]/;

/** True if every character of a label is allowed where it is. */
export function areValidInContext(characters: readonly string[]): boolean {
  const label = characters.join("");
  // A label may use only one kind of Arabic digits.
  if (ARABIC_DIGIT.test(label) && EXTENDED_ARABIC_DIGIT.test(label)) return false;
  return characters.every((character, index) => {
    if (ARABIC_DIGIT.test(character) || EXTENDED_ARABIC_DIGIT.test(character)) return true;
    const rule = CONTEXT.get(character);
    return rule === undefined ? isValidAnywhere(character) : rule(characters, index);
  });
}

const VIRAMA =
  /[\u{94d}\u{9cd}\u{a4d}\u{acd}\u{b4d}\u{bcd}\u{c4d}\u{ccd}\u{d3b}\u{d3c}\u{d4d}\u{dca}\u{e3a}\u{eba}\u{f84}\u{1039}\u{103a}\u{1714}\u{1715}\u{1734}\u{17d2}\u{1a60}\u{1b44}\u{1baa}\u{1bab}\u{1bf2}\u{1bf3}\u{2d7f}\u{a806}\u{a82c}\u{a8c4}\u{a953}\u{a9c0}\u{aaf6}\u{abed}\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]/u;

function isAfterVirama(characters: readonly string[], index: number): boolean {
  return VIRAMA.test(characters[index - 1] ?? "");
}

const JOINED = /^(?=\p{L})[\p{sc=Arab}\p{sc=Syrc}\p{sc=Nkoo}\p{sc=Mong}\p{sc=Mand}\p{sc=Adlm}]$/u;
/** Letters that join on neither side, and letters that join only to the preceding one. */
const NOT_JOINED = /[\u0621\u0674\u06d5\u08ad]/;
const JOINED_BEFORE_ONLY =
  /[\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f]/;

/** Between two letters that would be joined in writing; marks on them are ignored. */
function isBetweenJoined(characters: readonly string[], index: number): boolean {
  const before = characters.findLast((other, at) => at < index && !isMark(other)) ?? "";
  const after = characters.find((other, at) => at > index && !isMark(other)) ?? "";
  return isJoined(before) && isJoined(after) && !JOINED_BEFORE_ONLY.test(before);
}

function isMark(character: string): boolean {
  return /\p{Mn}/u.test(character);
}

function isJoined(character: string): boolean {
  return JOINED.test(character) && !NOT_JOINED.test(character);
}
