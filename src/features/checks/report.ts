/** How the checks of a store report what they find. */

export type Report = (subject: string, fault: string) => undefined;
