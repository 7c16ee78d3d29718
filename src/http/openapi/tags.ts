/** The groups of the OpenAPI document. Each is also the name of the folder with its routes. */

export const TAGS = {
  data: "Writing events, and reading what they make: states, lengths, pages of events.",
  feed: "Every event of an environment in commit order, in pages and live.",
  projections: "Tables that are kept up to date from events, read by row, as CSV or by SQL.",
  reactions: "What events set off: implied and scheduled events, sagas, deliveries to listeners.",
  audit: "Anchors over all streams, and proofs that an event is under one.",
  erasure: "Requests to erase what the events of a stream say, and their receipts.",
  operators: "Accounts, instances, specs, API keys and modules. These take an operator's token.",
  imports: "Writing events of the past, from elsewhere.",
  platform: "Health, metrics and this document.",
} as const;

export type Tag = keyof typeof TAGS;
