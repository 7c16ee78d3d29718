"""What a file of backdated events must have become, told without any code of the product.

Usage: import_oracle.py FILE. Prints one line of JSON: for each stream its number of events, the
SHA-256 chain hash of its last one, and the SHA-256 of all its stored events. Events are those of
`import_fixtures.ts`: their identifiers are canonical, their metadata has actor and timestamp.
"""

import hashlib
import json
import sys


def main():
    streams = {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            sent = json.loads(line)
            stored = {name: sent[name] for name in ("key", "type", "data")}
            stored["metadata"] = {name: sent["metadata"][name] for name in ("actor", "timestamp")}
            raw = json.dumps(stored, separators=(",", ":"), ensure_ascii=False).encode()
            count, tip, digest = streams.get(sent["key"], (0, b"", hashlib.sha256()))
            digest.update(raw + b"\n")
            tip = hashlib.sha256(tip + raw).hexdigest().encode()
            streams[sent["key"]] = (count + 1, tip, digest)
    told = {key: [count, tip.decode(), digest.hexdigest()]
            for key, (count, tip, digest) in streams.items()}
    json.dump(told, sys.stdout)


main()
