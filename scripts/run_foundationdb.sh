#!/bin/sh
# A FoundationDB cluster of one process, for trying things out and for the tests. It listens on
# this machine alone, on a free port. Prints the path of its cluster file and runs until Ctrl-C.
#
#   scripts/run_foundationdb.sh            in a temporary folder, removed in the end
#   scripts/run_foundationdb.sh ./fdb      in that folder, kept: start it again to go on
#   scripts/run_foundationdb.sh --memory   in memory: faster, for tests
#
# With UNTIL_PID set it also ends when that process does.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/usr/local/bin"
storage=ssd
if [ "${1:-}" = "--memory" ]; then
  storage=memory
  shift
fi
for program in fdbserver fdbcli; do
  command -v "$program" >/dev/null 2>&1 && continue
  echo "$program is not installed. FoundationDB's packages foundationdb-server and" >&2
  echo "foundationdb-clients have it: https://github.com/apple/foundationdb/releases" >&2
  exit 1
done

kept=${1:-}
if [ -n "$kept" ]; then
  mkdir -p "$kept"
  folder=$(cd "$kept" && pwd)
else
  folder=$(mktemp -d "${TMPDIR:-/tmp}/foundationdb_XXXXXX")
fi
mkdir -p "$folder/data" "$folder/log"
cluster_file="$folder/fdb.cluster"
server=

stop() {
  trap - EXIT INT TERM HUP
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    # A server that is held still takes no other signal.
    kill -CONT "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  [ -n "$kept" ] || rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Starts the server on a port; fails when the port is taken.
start_on() {
  [ -f "$cluster_file" ] || echo "daybook:local@127.0.0.1:$1" >"$cluster_file"
  fdbserver --cluster-file "$cluster_file" --datadir "$folder/data" --logdir "$folder/log" \
    --listen-address "127.0.0.1:$1" --public-address "127.0.0.1:$1" \
    --parentpid $$ >"$folder/log/fdbserver.out" 2>&1 </dev/null &
  server=$!
  echo "$server" >"$folder/fdbserver.pid"
  sleep 1
  kill -0 "$server" 2>/dev/null
}

is_running() {
  kill -0 "$server" 2>/dev/null || return 1
  [ -z "${UNTIL_PID:-}" ] || kill -0 "$UNTIL_PID" 2>/dev/null
}

ask() {
  fdbcli -C "$cluster_file" --timeout 5 --exec "$1" 2>&1 || true
}

started=
is_new=
if [ -f "$cluster_file" ]; then
  start_on "$(sed -n 's/^[^#].*:\([0-9]*\)$/\1/p' "$cluster_file")" && started=yes
else
  is_new=yes
  port=$((4500 + $$ % 1000))
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    start_on "$port" && started=yes && break
    rm -f "$cluster_file"
    port=$((port + 1))
  done
fi
if [ -z "$started" ]; then
  echo "fdbserver did not start:" >&2
  cat "$folder/log/fdbserver.out" >&2
  exit 1
fi

# Asked of a new database, the status would only be waited for.
[ -n "$is_new" ] && ask "configure new single $storage" >/dev/null
tries=0
until ask "status minimal" | grep -q "is available"; do
  tries=$((tries + 1))
  if [ "$tries" -gt 12 ] || ! is_running; then
    echo "The cluster did not become available:" >&2
    ask status >&2
    exit 1
  fi
  ask "configure new single $storage" >/dev/null
done

echo "$cluster_file"
echo "FoundationDB is ready. Use it with FDB_CLUSTER_FILE=$cluster_file; Ctrl-C stops it." >&2
# Short sleeps: a signal is only taken between them.
while is_running; do
  sleep 1 &
  wait $! || true
done
