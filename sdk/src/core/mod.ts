/** What `@daybook/client` exports: the client, its types and its errors. */

export type { AggregateTypes, AnyTypes, ClientTypes } from "./client_types.ts";
