# Daybook with its embedded store. Data, credentials and secrets live in /data.
#   docker build -t daybook .
#   docker run -p 8000-8002:8000-8002 -v daybook:/data daybook
# On a FoundationDB cluster instead: compose.yaml.

# The client library for clusters. It speaks with servers of its own release, 7.3; the bindings have
# a build for linux/amd64 alone, so other platforms run the embedded store.
ARG FDB_VERSION=7.3.63
FROM --platform=linux/amd64 foundationdb/foundationdb:${FDB_VERSION} AS foundationdb

FROM denoland/deno:2.9.6
COPY --from=foundationdb /usr/lib/libfdb_c.so /usr/lib/libfdb_c.so

WORKDIR /app

# Dependencies are fetched while the image is built, never when it runs; --frozen refuses any
# that deno.lock does not know.
COPY deno.json deno.lock main.ts ./
COPY src/ src/
COPY sdk/ sdk/
COPY console/ console/
COPY scripts/start_permissions.ts scripts/build_console.ts scripts/build_docs.ts scripts/
COPY scripts/console/ scripts/console/
COPY scripts/docs/ scripts/docs/
COPY scripts/sites/ scripts/sites/
# The documentation, and the documents outside of its folder that it leads to.
COPY README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md ./
COPY docs/ docs/
COPY tests/README.md tests/
COPY scripts/peers/README.md scripts/peers/
COPY examples/shop/README.md examples/shop/
RUN deno cache --frozen main.ts \
  && deno run --allow-all scripts/build_console.ts \
  && deno run --allow-all scripts/build_docs.ts \
  && mkdir /data \
  && chown -R deno:deno /data /deno-dir

USER deno
ENV DAYBOOK_HOST=0.0.0.0 \
    DAYBOOK_PORT=8000 \
    DAYBOOK_DATA_DIR=/data \
    DENO_NO_UPDATE_CHECK=1
VOLUME /data
# production, staging, test
EXPOSE 8000-8002

HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["deno", "eval", "--unsafely-ignore-certificate-errors=127.0.0.1", \
       "const scheme = Deno.env.get('DAYBOOK_TLS_CERT') ? 'https' : 'http'; const reply = await fetch(`${scheme}://127.0.0.1:${Deno.env.get('DAYBOOK_PORT')}/health/ready`); Deno.exit(reply.ok ? 0 : 1)"]

# As `deno task start`: what the server may touch follows from its settings.
CMD ["sh", "-c", "DENO_TOKIO_EVENT_INTERVAL=2 DENO_TOKIO_GLOBAL_QUEUE_INTERVAL=2 exec deno run --cached-only --frozen --no-prompt --v8-flags=--max-semi-space-size=8,--heap-growing-percent=100,--initial-old-space-size=128,--no-allocation-site-pretenuring --allow-net --allow-env --allow-sys=hostname,statfs \"$(deno run -A -q --no-config --no-lock scripts/start_permissions.ts read)\" \"$(deno run -A -q --no-config --no-lock scripts/start_permissions.ts write)\" \"$(deno run -A -q --no-config --no-lock scripts/start_permissions.ts run)\" \"$(deno run -A -q --no-config --no-lock scripts/start_permissions.ts ffi)\" main.ts serve"]
