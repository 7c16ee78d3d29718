/** Sources without a test of their own: the test of which other file covers each, and why. */

export interface Neighbour {
  /** A file, or a folder for all files in it. */
  readonly place: string;
  /** The test that covers it, and why it has none of its own. */
  readonly test: string;
  readonly reason: string;
}

/** Sources without a test of their own. Files that declare only types need no row. */
export const COVERED_BY_NEIGHBOUR: readonly Neighbour[] = [
  {
    place: "src/domain/refusal.ts",
    test: "tests/http/reply_test.ts",
    reason: "a union of names; what each means is seen where it goes to the wire",
  },
  {
    place: "src/http/decode/long_reader.ts",
    test: "tests/http/decode/json_long_test.ts",
    reason: "the state of a reading, and its faults, seen through whole texts",
  },
  {
    place: "sdk/src/core",
    test: "tests/sdk/core/client_test.ts",
    reason: "parts of the client, seen through whole calls",
  },
  {
    place: "sdk/src/admin",
    test: "tests/sdk/admin/admin_test.ts",
    reason: "groups of calls, each made on a real server",
  },
  {
    place: "sdk/src/test",
    test: "tests/sdk/test/scenario_test.ts",
    reason: "what the server would do, and failures, seen through scenarios",
  },
  {
    place: "sdk/src/verify",
    test: "tests/sdk/verify/bundle_test.ts",
    reason: "forms, hashes and verdicts, seen through whole bundles",
  },
  {
    place: "src/domain/migrate/sources",
    test: "tests/domain/migrate/sources_test.ts",
    reason: "each reads records of its source, which are data",
  },
  {
    place: "src/domain/migrate/source_event.ts",
    test: "tests/domain/migrate/sources_test.ts",
    reason: "times and names as sources write them, seen through their records",
  },
  {
    place: "src/domain/migrate/read_events.ts",
    test: "tests/domain/migrate/sources_test.ts",
    reason: "the order of events, seen through files of each source",
  },
  {
    place: "src/domain/migrate/survey.ts",
    test: "tests/domain/migrate/sources_test.ts",
    reason: "drafts of maps and specs, each tried on what it was made from",
  },
  {
    place: "src/domain/migrate/tally.ts",
    test: "tests/cli/migrate_test.ts",
    reason: "counts, seen through plans and runs",
  },
  {
    place: "src/domain/backup",
    test: "tests/domain/backup/read_backup_test.ts",
    reason: "what is written is what is read, and the reader refuses everything else",
  },
  {
    place: "src/features/backup/write_backup.ts",
    test: "tests/cli/backup_test.ts",
    reason: "the order of the parts, seen through whole backups of a real server",
  },
  {
    place: "src/http/operators/backup.ts",
    test: "tests/cli/backup_test.ts",
    reason: "a stream and who may take it, seen through whole backups of a real server",
  },
  {
    place: "src/store/restored.ts",
    test: "tests/features/backup/backup_service_test.ts",
    reason: "one record, seen through what it holds up",
  },
  {
    place: "src/domain/sha256",
    test: "tests/domain/audit/node_hash_test.ts",
    reason: "the instructions, which are right when the digests are",
  },
  {
    place: "src/domain/audit",
    test: "tests/domain/audit/attestation_test.ts",
    reason: "forms, hashes and signatures, seen through whole bundles",
  },
  {
    place: "src/domain/handler",
    test: "tests/domain/handler/operations_test.ts",
    reason: "golden cases call each operation by its name in a handler",
  },
  {
    place: "src/domain/reaction",
    test: "tests/domain/reaction/compile_reactions_test.ts",
    reason: "golden cases name each kind of entry and each of its parts",
  },
  {
    place: "src/domain/saga",
    test: "tests/domain/saga/step_test.ts",
    reason: "the state machine with the data it works on, told as stories",
  },
  {
    place: "src/domain/spec",
    test: "tests/domain/spec/compile_test.ts",
    reason: "parts of compileSpec(), told apart by the rule of each golden case",
  },
  {
    place: "src/domain/spec/schema",
    test: "tests/domain/spec/event_schema_test.ts",
    reason: "parts of the schema compiler, seen through whole schemas",
  },
  {
    place: "src/domain/spec/shapes",
    test: "tests/domain/spec/shapes/state_shape_test.ts",
    reason: "shapes are sound if no state and no instance falls outside of what is written of them",
  },
  {
    place: "src/domain/spec/schema_compatibility.ts",
    test: "tests/domain/spec/compatibility_test.ts",
    reason: "the nested half of the same comparison",
  },
  {
    place: "src/kv",
    test: "tests/contract/sqlite_test.ts",
    reason: "parts of the SQLite engine, which keeps the contract as a whole",
  },
  {
    place: "src/features/audit/due_anchors.ts",
    test: "tests/workers/anchors_test.ts",
    reason: "the worker is all that drives it",
  },
  {
    place: "src/features/audit/platform_anchor.ts",
    test: "tests/workers/anchors_test.ts",
    reason: "made after the anchors that it covers",
  },
  {
    place: "src/features/audit/rotate_signing_key.ts",
    test: "tests/features/audit/audit_service_test.ts",
    reason: "what a rotation means is seen in the anchors after it",
  },
  {
    place: "src/features/audit/read_evidence.ts",
    test: "tests/features/audit/audit_service_test.ts",
    reason: "read beside what made them",
  },
  {
    place: "src/store/audit/anchors.ts",
    test: "tests/features/audit/audit_service_test.ts",
    reason: "records as anchors leave them",
  },
  {
    place: "src/store/audit/platform_anchors.ts",
    test: "tests/workers/anchors_test.ts",
    reason: "records as the worker leaves them",
  },
  {
    place: "src/store/audit/tree_chunks.ts",
    test: "tests/features/audit/build_tree_test.ts",
    reason: "chunks are what building a tree leaves",
  },
  {
    place: "src/domain/audit/tree_blocks.ts",
    test: "tests/features/audit/build_tree_test.ts",
    reason: "blocks are judged by the root over them",
  },
  {
    place: "src/http/audit/audit.ts",
    test: "tests/end_to_end/audit_test.ts",
    reason: "the wire is judged with real anchors behind it",
  },
  {
    place: "src/http/erasure/tombstones.ts",
    test: "tests/end_to_end/erasure_test.ts",
    reason: "the wire is judged with real erasures behind it",
  },
  {
    place: "src/domain/erasure/tombstone.ts",
    test: "tests/features/erasure/tombstones_test.ts",
    reason: "the forms of a request, seen by whoever makes one",
  },
  {
    place: "src/domain/saga/instance.ts",
    test: "tests/features/erasure/copies_test.ts",
    reason: "sagas as the store has them, and what becomes of these",
  },
  {
    place: "src/store/tombstones.ts",
    test: "tests/features/erasure/tombstones_test.ts",
    reason: "records of requests, their lists and their time",
  },
  {
    place: "src/store/erased_copies.ts",
    test: "tests/features/erasure/copies_test.ts",
    reason: "pages of what is removed, seen by what is left",
  },
  {
    place: "src/features/checks/check_erasures.ts",
    test: "tests/features/checks/check_store_test.ts",
    reason: "part of the check of a store",
  },
  {
    place: "src/features/checks/check_log.ts",
    test: "tests/features/checks/check_store_test.ts",
    reason: "part of the check of a store",
  },
  {
    place: "src/http/openapi",
    test: "tests/http/openapi/document_test.ts",
    reason: "tables and what joins them, judged as one document, and by real answers end to end",
  },
  {
    place: "src/store/keys.ts",
    test: "tests/store/streams/streams_test.ts",
    reason: "a table; each row is used by the test of its own record",
  },
  {
    place: "src/store/deployment_keys.ts",
    test: "tests/store/leases_test.ts",
    reason: "as above",
  },
  {
    place: "src/store/effects.ts",
    test: "tests/features/reactions/read_effects_test.ts",
    reason: "the rows behind one call",
  },
  {
    place: "src/store/feed/fill.ts",
    test: "tests/features/feed/fill_feed_test.ts",
    reason: "the records of the filling in",
  },
  {
    place: "src/store/feed/sharded_log.ts",
    test: "tests/features/feed/fill_feed_test.ts",
    reason: "what the filling in finds of older builds",
  },
  {
    place: "src/features/feed/feed_service.ts",
    test: "tests/features/feed/read_feed_test.ts",
    reason: "pages of the feed; the other calls are tested by the files that they bind",
  },
  {
    place: "src/http/feed",
    test: "tests/http/feed/feed_test.ts",
    reason: "seen by clients as one: what is sent, when, and how it ends",
  },
  {
    place: "src/features/writes/prepare_schedule.ts",
    test: "tests/features/writes/prepare_reactions_test.ts",
    reason: "ids and sizes, seen by what a write leaves",
  },
  {
    place: "src/features/writes/append_deliveries.ts",
    test: "tests/features/listeners/deliver_events_test.ts",
    reason: "what is put in is seen by what is sent",
  },
  {
    place: "src/features/listeners/try_delivery.ts",
    test: "tests/features/listeners/deliver_events_test.ts",
    reason: "one try, seen by its receiver",
  },
  {
    place: "src/features/listeners/work_lane.ts",
    test: "tests/features/listeners/delivery_order_test.ts",
    reason: "the order within a lane",
  },
  {
    place: "src/domain/listener/view.ts",
    test: "tests/end_to_end/listeners_test.ts",
    reason: "what clients see of deliveries",
  },
  {
    place: "src/features/imports",
    test: "tests/features/imports/import_events_test.ts",
    reason: "parts of one import, which is tested as a whole",
  },
  {
    place: "src/domain/import/progress.ts",
    test: "tests/end_to_end/imports_test.ts",
    reason: "a record and what people see of it",
  },
  {
    place: "src/store/imports.ts",
    test: "tests/features/imports/import_events_test.ts",
    reason: "records as imports leave them",
  },
  {
    place: "src/http/imports/file_body.ts",
    test: "tests/end_to_end/imports_test.ts",
    reason: "what a body may be, seen by clients",
  },
  {
    place: "src/features/writes/live_states.ts",
    test: "tests/features/writes/judge_guards_test.ts",
    reason: "what guards look at; which writes they let pass is what is to be shown",
  },
  {
    place: "src/features/writes/outside_states.ts",
    test: "tests/features/writes/judge_guards_test.ts",
    reason: "writes that wait for such states, and what they are told",
  },
  {
    place: "src/domain/write/precondition.ts",
    test: "tests/features/writes/judge_guards_test.ts",
    reason: "its cases are data, and run through whole writes",
  },
  {
    place: "src/features/writes/judge_scene.ts",
    test: "tests/features/writes/judge_writes_test.ts",
    reason: "one verdict; the writes that race for it are what is to be shown",
  },
  {
    place: "src/http/operators/usage.ts",
    test: "tests/end_to_end/plans_test.ts",
    reason: "what it shows is what was counted there",
  },
  {
    place: "src/http/middleware/rate_limit.ts",
    test: "tests/end_to_end/rate_limits_test.ts",
    reason: "what it puts on answers, by its exact value",
  },
  {
    place: "src/features/writes/prepare_write.ts",
    test: "tests/features/writes/prepare_reactions_test.ts",
    reason: "both make a write ready, and together they bound it",
  },
  {
    place: "src/features/writes/prepared_write.ts",
    test: "tests/features/writes/append_writes_test.ts",
    reason: "types, and the answer to a write whose cause is gone",
  },
  {
    place: "src/http/metrics/definitions.ts",
    test: "tests/end_to_end/metrics_test.ts",
    reason: "a table; each row is moved there by what it counts",
  },
  {
    place: "src/domain/projection/basis.ts",
    test: "tests/domain/projection/compile_test.ts",
    reason: "a hash, compared where definitions are compiled under several specs",
  },
  {
    place: "src/domain/projection/sources.ts",
    test: "tests/domain/projection/compile_test.ts",
    reason: "golden cases of what is refused, and of rows, name each form of a source",
  },
  {
    place: "src/domain/projection/columns.ts",
    test: "tests/domain/projection/row_test.ts",
    reason: "golden cases of rows and of what is refused name each form of a column",
  },
  {
    place: "src/domain/projection/operators.ts",
    test: "tests/domain/projection/row_test.ts",
    reason: "golden cases of rows call each operator by its name",
  },
  {
    place: "src/features/projections",
    test: "tests/features/projections/keep_projections_test.ts",
    reason: "upkeep, builds, switches and removals, seen through the rows that they leave",
  },
  {
    place: "src/features/projections/wait_for_projections.ts",
    test: "tests/features/projections/keep_projections_test.ts",
    reason: "asked there before and after each step of the upkeep",
  },
  {
    place: "src/features/projections/projections_service.ts",
    test: "tests/workers/projections_test.ts",
    reason: "wakes the worker of that test",
  },
  {
    place: "src/features/projections/read_rows.ts",
    test: "tests/end_to_end/projections_test.ts",
    reason: "rows as clients get them",
  },
  {
    place: "src/http/projections/projections.ts",
    test: "tests/end_to_end/projections_test.ts",
    reason: "asked there through the whole product",
  },
  {
    place: "src/store/projections/projections.ts",
    test: "tests/features/projections/keep_projections_test.ts",
    reason: "definitions and versions, kept and removed there",
  },
  {
    place: "src/store/projections/row_changes.ts",
    test: "tests/store/projections/projection_rows_test.ts",
    reason: "changes are those of rows",
  },
  {
    place: "src/store/feed/log_cursor.ts",
    test: "tests/features/projections/keep_projections_test.ts",
    reason: "projections move the cursor",
  },
  {
    place: "src/features/sagas/saga_transition.ts",
    test: "tests/features/sagas/advance_sagas_test.ts",
    reason: "one saga's part of the transaction",
  },
  {
    place: "src/features/states/keep_snapshots.ts",
    test: "tests/features/states/rebuild_snapshots_test.ts",
    reason: "the same snapshots, kept after a read",
  },
  {
    place: "src/features/transfer",
    test: "tests/features/transfer/round_trip_test.ts",
    reason: "parts of export and import, which are tested as wholes",
  },
  {
    place: "src/domain/transfer",
    test: "tests/domain/transfer/check_file_test.ts",
    reason: "lines and records of a file, seen through the check of whole files",
  },
  {
    place: "src/domain/wasm",
    test: "tests/domain/wasm/check_module_test.ts",
    reason: "parts of checking a module, seen through whole modules and the engine's answer",
  },
  {
    place: "src/domain/wasm/action_output.ts",
    test: "tests/domain/wasm/call_output_test.ts",
    reason: "one of the kinds of output",
  },
  {
    place: "src/domain/wasm/memory_range.ts",
    test: "tests/domain/wasm/call_output_test.ts",
    reason: "where the output is",
  },
  {
    place: "src/domain/wasm/handler_error.ts",
    test: "tests/domain/wasm/call_output_test.ts",
    reason: "one of the kinds of output",
  },
  {
    place: "src/runners",
    test: "tests/wasm/pool_test.ts",
    reason: "what all pools share, whose runners are processes and are tested as such",
  },
  {
    place: "src/sql",
    test: "tests/sql/query_pool_test.ts",
    reason: "programs of processes and what passes between them, tested with the processes",
  },
  {
    place: "src/sql/copy_file.ts",
    test: "tests/features/projections/sql/projection_copies_test.ts",
    reason: "what may become of a file, seen through queries on it",
  },
  {
    place: "src/features/projections/sql",
    test: "tests/features/projections/sql/projection_copies_test.ts",
    reason: "parts of keeping a copy, seen through queries on it",
  },
  {
    place: "src/wasm",
    test: "tests/wasm/pool_test.ts",
    reason: "parts of the pool and its runners, which are processes and are tested as such",
  },
  {
    place: "src/compute",
    test: "tests/compute/pool_test.ts",
    reason: "programs of processes and what passes between them, tested with the processes",
  },
  {
    place: "src/wasm/examples",
    test: "tests/wasm/examples_test.ts",
    reason: "sources of modules, which are built and run there",
  },
  {
    place: "src/wasm/call_module.ts",
    test: "tests/wasm/hostile_modules_test.ts",
    reason: "each way in which a call can end",
  },
  {
    place: "src/wasm/compiled_modules.ts",
    test: "tests/wasm/determinism_test.ts",
    reason: "memory that is used again must not show it",
  },
  {
    place: "src/cli",
    test: "tests/cli/commands_test.ts",
    reason: "commands are run as processes, with their exit codes and what they print",
  },
  {
    place: "src/features/base",
    test: "tests/features/states/read_aggregate_test.ts",
    reason: "what every read begins with",
  },
  {
    place: "src/features/limits",
    test: "tests/end_to_end/plans_test.ts",
    reason: "limits and plans, seen by a client at its limit",
  },
  {
    place: "src/features/listeners",
    test: "tests/features/listeners/deliver_events_test.ts",
    reason: "lanes and lists, seen through deliveries",
  },
  {
    place: "src/features/modules",
    test: "tests/features/writes/ask_modules_test.ts",
    reason: "runs of modules, seen by what they answer",
  },
  {
    place: "src/features/reactions",
    test: "tests/features/reactions/run_outbox_test.ts",
    reason: "what wakes the outbox and what waits in it",
  },
  {
    place: "src/features/sagas",
    test: "tests/features/sagas/read_sagas_test.ts",
    reason: "one saga of the list",
  },
  {
    place: "src/features/specs",
    test: "tests/features/specs/deploy_spec_test.ts",
    reason: "what was deployed, read again",
  },
  {
    place: "src/features/specs/judge_past.ts",
    test: "tests/features/specs/check_data_test.ts",
    reason: "the guards of a check",
  },
  {
    place: "src/features/states",
    test: "tests/features/states/read_aggregate_test.ts",
    reason: "parts of reading an aggregate",
  },
  {
    place: "src/features/traced.ts",
    test: "tests/telemetry_test.ts",
    reason: "spans, seen by a collector",
  },
  {
    place: "src/features/work",
    test: "tests/features/service_test.ts",
    reason: "calls of the background, bound to one engine",
  },
  {
    place: "src/workers/workers.ts",
    test: "tests/workers/outbox_test.ts",
    reason: "a table; each worker has a test of its own in that folder",
  },
];
