/** What `@daybook/client/verify` exports: verifying evidence without the server. */

export { verifyAnchor, verifyPlatformAnchor } from "./anchor.ts";
export type { AnchorOptions, AnchorVerdict, ProvenAnchor, ProvenPlatformAnchor } from "./anchor.ts";
export { verifyBundle } from "./bundle.ts";
export type { BundleOptions, BundleVerdict, ProvenEvent } from "./bundle.ts";
export { verifyInclusion } from "./inclusion.ts";
export type { InclusionClaim, InclusionProof, InclusionRules } from "./inclusion.ts";
export { verifyPage } from "./page.ts";
export type { PageOptions, PageVerdict, ProvenPage } from "./page.ts";
export { verifyReceipt } from "./receipt.ts";
export type { ProvenErasure, ReceiptOptions, ReceiptVerdict } from "./receipt.ts";
export type { PublicKey, Refused, VerifyCheck, VerifyStep } from "./verdict.ts";
