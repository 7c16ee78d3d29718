"""The independent answer about audit artifacts: written from the contract alone, with Python's
hashlib and the Ed25519 of OpenSSL's libcrypto. Shares no code with the product.

  audit_oracle.py golden FOLDER   writes the golden vectors
  audit_oracle.py verify          judges documents in batches: on standard input how many, and for
                                  each its length and its bytes (32 bits, big-endian); for each a
                                  line comes back: "ok", or the step that failed

Any Python from 3.9 on; nothing to install.
"""

import ctypes
import ctypes.util
import hashlib
import json
import os
import re
import struct
import sys

# ---------------------------------------------------------------- Ed25519, by OpenSSL

_name = ctypes.util.find_library("crypto")
if _name is None:
    sys.exit("OpenSSL's libcrypto was not found")
_crypto = ctypes.CDLL(_name)
_ED25519 = 1087  # NID_ED25519
_pointer = ctypes.c_void_p
for _function, _result, _arguments in [
    ("EVP_PKEY_new_raw_public_key", _pointer, [ctypes.c_int, _pointer, ctypes.c_char_p, ctypes.c_size_t]),
    ("EVP_PKEY_new_raw_private_key", _pointer, [ctypes.c_int, _pointer, ctypes.c_char_p, ctypes.c_size_t]),
    ("EVP_PKEY_get_raw_public_key", ctypes.c_int, [_pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]),
    ("EVP_PKEY_free", None, [_pointer]),
    ("EVP_MD_CTX_new", _pointer, []),
    ("EVP_MD_CTX_free", None, [_pointer]),
    ("EVP_DigestVerifyInit", ctypes.c_int, [_pointer] * 5),
    ("EVP_DigestVerify", ctypes.c_int, [_pointer, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
    ("EVP_DigestSignInit", ctypes.c_int, [_pointer] * 5),
    ("EVP_DigestSign", ctypes.c_int, [_pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_char_p, ctypes.c_size_t]),
]:
    getattr(_crypto, _function).restype = _result
    getattr(_crypto, _function).argtypes = _arguments


def public_key(private):
    key = _crypto.EVP_PKEY_new_raw_private_key(_ED25519, None, private, 32)
    out, size = ctypes.create_string_buffer(32), ctypes.c_size_t(32)
    assert _crypto.EVP_PKEY_get_raw_public_key(key, out, ctypes.byref(size)) == 1
    _crypto.EVP_PKEY_free(key)
    return out.raw.hex()


def sign(private, message):
    key = _crypto.EVP_PKEY_new_raw_private_key(_ED25519, None, private, 32)
    context = _crypto.EVP_MD_CTX_new()
    assert _crypto.EVP_DigestSignInit(context, None, None, None, key) == 1
    out, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    assert _crypto.EVP_DigestSign(context, out, ctypes.byref(size), message, len(message)) == 1
    _crypto.EVP_MD_CTX_free(context)
    _crypto.EVP_PKEY_free(key)
    return out.raw.hex()


# Multiples of one point of order 8: y of each, sign of x left out, and y + p where that has 255 bits.
_P = 2**255 - 19
_SMALL_ORDER = {0, 1, _P - 1, _P, _P + 1,
                0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826,
                0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7}


def is_signed(public, signature, message):
    if int.from_bytes(bytes.fromhex(public), "little") % 2**255 in _SMALL_ORDER:
        return False
    key = _crypto.EVP_PKEY_new_raw_public_key(_ED25519, None, bytes.fromhex(public), 32)
    if not key:
        return False
    context = _crypto.EVP_MD_CTX_new()
    try:
        if _crypto.EVP_DigestVerifyInit(context, None, None, None, key) != 1:
            return False
        return _crypto.EVP_DigestVerify(context, bytes.fromhex(signature), 64, message, len(message)) == 1
    finally:
        _crypto.EVP_MD_CTX_free(context)
        _crypto.EVP_PKEY_free(key)


# ---------------------------------------------------------------- trees

def sha(data):
    return hashlib.sha256(data).digest()


def leaf(value, form):
    return bytes.fromhex(value) if form == 1 else sha(b"\x00" + bytes.fromhex(value))


def parent(left, right, form):
    return sha(left + right) if form == 1 else sha(b"\x01" + left + right)


def levels_of(values, form=2):
    levels = [[leaf(value, form) for value in values]]
    while len(levels[-1]) > 1:
        level = list(levels[-1])
        if len(level) % 2 == 1:
            level.append(level[-1])
        levels[-1] = level
        levels.append([parent(level[i], level[i + 1], form) for i in range(0, len(level), 2)])
    return levels


def root_of(values, form=2):
    return levels_of(values, form)[-1][0].hex()


def prove(values, index, form=2):
    siblings, directions = [], []
    for level in levels_of(values, form)[:-1]:
        siblings.append(level[index ^ 1].hex())
        directions.append("left" if index & 1 else "right")
        index >>= 1
    return {"siblings": siblings, "directions": directions}


def chain(raws):
    hashes, before = [], b""
    for raw in raws:
        before = hashlib.sha256(before + raw.encode()).hexdigest().encode()
        hashes.append(before.decode())
    return hashes


# ---------------------------------------------------------------- anchors

def instance_payload(a):
    return ('{"format":2,"scope":"instance","instance_id":"%s","environment":"%s","merkle_root":"%s",'
            '"event_count":%d,"stream_count":%d,"created_at":"%s"}' % (
                a["instance_id"], a["environment"], a["merkle_root"],
                a["event_count"], a["stream_count"], a["created_at"]))


def platform_payload(a):
    return ('{"format":2,"scope":"platform","merkle_root":"%s","instance_count":%d,"cutoff_at":"%s",'
            '"created_at":"%s"}' % (a["merkle_root"], a["instance_count"], a["cutoff_at"], a["created_at"]))


def erasure_payload(r):
    names = ["tombstone_id", "instance_id", "environment", "key", "reason", "legal_basis", "requested_at",
             "requested_by", "executed_at", "completed_at", "event_count", "erased_count", "generation",
             "previous_tip", "tip"]
    fields = [("format", 1), ("scope", "erasure")] + [(name, r[name]) for name in names]
    return json.dumps(dict(fields), separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- verifying a bundle

class Refused(Exception):
    """Its argument is the step that failed."""


def need(condition, step):
    if not condition:
        raise Refused(step)


def no_constant(name):
    raise ValueError(name)


def whole_number(digits):
    return int(digits) if len(digits) < 20 else float(digits)


def decode(text):
    return json.loads(text, parse_constant=no_constant, parse_int=whole_number)


HEX = {size: re.compile("[0-9a-f]{%d}" % size) for size in (64, 128)}
PLAIN = re.compile(r'[\x20-\x7e]{1,256}')


def is_hex(value, size=64):
    return isinstance(value, str) and HEX[size].fullmatch(value) is not None


def is_plain(value):
    return isinstance(value, str) and PLAIN.fullmatch(value) is not None and not set(value) & set('"\\')


def is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode()
        return True
    except UnicodeEncodeError:
        return False


def number(part, name, least):
    """JSON has one kind of number: 3.0 is 3."""
    value = part.get(name)
    need(isinstance(value, (int, float)) and not isinstance(value, bool), "form")
    need(abs(value) < 2 ** 53 and value == int(value) and value >= least, "form")
    part[name] = int(value)


def format_of(artifact):
    if "format" not in artifact:
        return 1
    value = artifact["format"]
    need(isinstance(value, (int, float)) and not isinstance(value, bool) and value == 2, "form")
    return 2


def check_proof_form(proof):
    siblings, directions = proof.get("siblings"), proof.get("directions")
    need(isinstance(siblings, list) and all(is_hex(one) for one in siblings), "form")
    need(isinstance(directions, list), "form")
    need(all(isinstance(one, str) and one in ("left", "right") for one in directions), "form")


def check_form(data):
    try:
        bundle = decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused("form")
    need(isinstance(bundle, dict), "form")
    form = format_of(bundle)
    for name in ("event", "stream", "stream_proof", "instance_proof", "anchor"):
        need(isinstance(bundle.get(name), dict), "form")
    event, stream, anchor = bundle["event"], bundle["stream"], bundle["anchor"]
    number(event, "index", 0)
    need(is_text(event.get("raw")) and is_hex(event.get("hash")), "form")
    need(event.get("prev_hash") == "" or is_hex(event.get("prev_hash")), "form")
    need(is_text(stream.get("key")) and is_hex(stream.get("merkle_root")), "form")
    number(stream, "event_count", 1)
    check_proof_form(bundle["stream_proof"])
    check_proof_form(bundle["instance_proof"])
    number(bundle["instance_proof"], "index", 0)
    number(bundle["instance_proof"], "stream_count", 1)
    need(is_hex(anchor.get("merkle_root")) and is_hex(anchor.get("public_key")), "form")
    need(is_hex(anchor.get("signature"), 128), "form")
    number(anchor, "stream_count", 1)
    need(format_of(anchor) == form, "form")
    if form == 2:
        need(all(is_plain(anchor.get(name)) for name in ("instance_id", "environment", "created_at")), "form")
        number(anchor, "event_count", 1)
    return bundle, form


def check_shape(index, count, proof):
    """As many pairs as levels, and on each the side on which the index says the sibling is."""
    need(len(proof["siblings"]) == len(proof["directions"]) and index < count, "counts")
    need(len(proof["siblings"]) == (count - 1).bit_length(), "counts")
    for level, direction in enumerate(proof["directions"]):
        need((direction == "left") == bool(index >> level & 1), "counts")


def fold(value, index, count, proof, form, step, distinct):
    current = leaf(value, form)
    for sibling, direction in zip(proof["siblings"], proof["directions"]):
        sibling = bytes.fromhex(sibling)
        alone = index == count - 1 and count % 2 == 1
        need(sibling == current or not alone, step)
        need(sibling != current or alone or not distinct, step)
        current = parent(current, sibling, form) if direction == "right" else parent(sibling, current, form)
        index, count = index // 2, (count + 1) // 2
    return current.hex()


def verify_bundle(data):
    bundle, form = check_form(data)
    event, stream, anchor, within = (bundle[name] for name in ("event", "stream", "anchor", "instance_proof"))
    try:
        stored = decode(event["raw"])
    except (ValueError, RecursionError):
        raise Refused("event")
    need(isinstance(stored, dict) and isinstance(stored.get("key"), str), "event")
    need(stored["key"] == stream["key"], "event")
    need(within["stream_count"] == anchor["stream_count"], "counts")
    need(form == 1 or stream["event_count"] <= anchor["event_count"], "counts")
    check_shape(event["index"], stream["event_count"], bundle["stream_proof"])
    check_shape(within["index"], anchor["stream_count"], within)
    need((event["index"] == 0) == (event["prev_hash"] == ""), "chain")
    need(hashlib.sha256((event["prev_hash"] + event["raw"]).encode()).hexdigest() == event["hash"], "chain")
    reached = fold(event["hash"], event["index"], stream["event_count"], bundle["stream_proof"], form,
                   "stream_proof", True)
    need(reached == stream["merkle_root"], "stream_proof")
    reached = fold(stream["merkle_root"], within["index"], anchor["stream_count"], within, form,
                   "instance_proof", False)
    need(reached == anchor["merkle_root"], "instance_proof")
    payload = instance_payload(anchor) if form == 2 else anchor["merkle_root"]
    need(is_signed(anchor["public_key"], anchor["signature"], payload.encode()), "signature")


def judge(data):
    try:
        verify_bundle(data)
        return "ok"
    except Refused as refused:
        return refused.args[0]


def serve():
    read = sys.stdin.buffer.read
    while True:
        head = read(4)
        if len(head) < 4:
            return
        documents = [read(struct.unpack(">I", read(4))[0]) for _ in range(struct.unpack(">I", head)[0])]
        sys.stdout.write("".join(judge(one) + "\n" for one in documents))
        sys.stdout.flush()


# ---------------------------------------------------------------- golden vectors

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")  # RFC 8032, 7.1
INSTANCE = "6f1c1f0a-2a0d-4c7e-9f52-0a1b2c3d4e5f"


def some_hashes(count, label=""):
    return [hashlib.sha256(("%sleaf %d" % (label, i)).encode()).hexdigest() for i in range(count)]


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def raw_event(key, number):
    text = ["plain", "Grüße ☃ 😀", "quote \" and \\ and \n"][number % 3]
    return dump({"key": key, "type": "was_noted", "data": {"number": number, "text": text},
                 "metadata": {"actor": {"type": "user", "id": "global"}, "timestamp": 1700000000 + number}})


def make_bundle(lengths, key, index, form=2, **fields):
    """`lengths`: how many events each stream has, by its key."""
    raws = {one: [raw_event(one, i) for i in range(length)] for one, length in lengths.items()}
    hashes = {one: chain(events) for one, events in raws.items()}
    keys = sorted(lengths, key=lambda one: one.encode())
    roots = [root_of(hashes[one], form) for one in keys]
    anchor = {"format": 2, "id": "anchor-1", "instance_id": INSTANCE, "environment": "production",
              "merkle_root": root_of(roots, form), "signature": "", "public_key": public_key(SEED),
              "event_count": sum(lengths.values()), "stream_count": len(keys),
              "created_at": "2026-03-04T05:06:07.089Z"}
    anchor.update(fields)
    payload = instance_payload(anchor) if form == 2 else anchor["merkle_root"]
    anchor["signature"] = sign(SEED, payload.encode())
    place = keys.index(key)
    proof = prove(roots, place, form)
    bundle = {
        "ok": True, "format": 2,
        "event": {"index": index, "id": "%012d" % index, "raw": raws[key][index],
                  "hash": hashes[key][index], "prev_hash": hashes[key][index - 1] if index else ""},
        "stream": {"key": key, "merkle_root": roots[place], "event_count": lengths[key]},
        "stream_proof": prove(hashes[key], index, form),
        "instance_proof": dict(index=place, stream_count=len(keys), **proof),
        "anchor": anchor, "anchored_at": anchor["created_at"]}
    if form == 1:
        del bundle["format"], anchor["format"]
    return bundle


def golden_merkle():
    values = some_hashes(70)
    trees = [{"count": count, "root": root_of(values[:count]), "root_format_1": root_of(values[:count], 1)}
             for count in range(1, 71)]
    proofs = [dict(format=form, count=count, index=index, **prove(values[:count], index, form))
              for form in (1, 2)
              for count, index in [(1, 0), (2, 0), (2, 1), (3, 2), (5, 4), (6, 5), (7, 3), (11, 10), (33, 32), (70, 0), (70, 41), (70, 69)]]
    return {"made_with": "Python hashlib", "values": values, "trees": trees, "proofs": proofs}


def golden_anchors():
    public = public_key(SEED)
    instance = {"instance_id": INSTANCE, "environment": "staging", "merkle_root": some_hashes(1)[0],
                "event_count": 1234567, "stream_count": 89, "created_at": "2026-03-04T05:06:07.089Z"}
    platform = {"merkle_root": some_hashes(1)[0], "instance_count": 12,
                "cutoff_at": "2026-03-04T05:00:00.000Z", "created_at": "2026-03-04T05:06:07.089Z"}
    return {
        "made_with": "OpenSSL's Ed25519; the key is that of RFC 8032, 7.1, test 1",
        "private_key": SEED.hex(), "public_key": public,
        "instance": {"fields": instance, "payload": instance_payload(instance),
                     "signature": sign(SEED, instance_payload(instance).encode())},
        "platform": {"fields": platform, "payload": platform_payload(platform),
                     "signature": sign(SEED, platform_payload(platform).encode())},
        "format_1": {"merkle_root": some_hashes(1)[0], "public_key": public,
                     "signature": sign(SEED, some_hashes(1)[0].encode())},
    }


def golden_receipts():
    tips = some_hashes(2, "tip ")
    plain = {"tombstone_id": "tmb_019c0d6d7b8042d2f1a7c3b59e0f", "instance_id": INSTANCE, "environment": "production",
             "key": "person:5b3e1a7c-9d24-4f6a-8b1e-000000000001", "reason": "asked for by the person",
             "legal_basis": "GDPR Article 17(1)(b)", "requested_at": "2026-03-01T05:06:07.089Z", "requested_by": "dpo",
             "executed_at": "2026-03-04T05:06:07.089Z", "completed_at": "2026-03-04T05:06:09.000Z",
             "event_count": 10000, "erased_count": 9998, "generation": 2, "previous_tip": tips[0], "tip": tips[1]}
    odd = dict(plain, legal_basis=None, reason="\"quoted\" \\ and\na line, \u0001\u007f\u2028 and \u00e9\U0001f5d1")
    cases = [{"name": name, "fields": fields, "payload": erasure_payload(fields),
              "signature": sign(SEED, erasure_payload(fields).encode())}
             for name, fields in [("as most are", plain), ("with every kind of character", odd)]]
    return {"made_with": "OpenSSL's Ed25519, Python's json; the key is that of RFC 8032, 7.1, test 1",
            "private_key": SEED.hex(), "public_key": public_key(SEED), "receipts": cases}


def bundle_worlds():
    many = {"order:%08d-0000-4000-8000-000000000000" % i: 1 + i % 4 for i in range(37)}
    five = {"order:global": 5, "account:ABCDEFGH1": 3, "order:north": 70}
    yield "one stream of one event", make_bundle({"order:global": 1}, "order:global", 0)
    yield "first of five events", make_bundle(five, "order:global", 0)
    yield "last of five events, alone on two levels", make_bundle(five, "order:global", 4)
    yield "stream that stands alone, inside a tree of 70", make_bundle(five, "order:north", 41)
    yield "last of 70 events", make_bundle(five, "order:north", 69)
    yield "last of 37 streams", make_bundle(many, max(many), 0)
    yield "one of 37 streams", make_bundle(many, sorted(many)[19], 3)
    yield "format 1, one event", make_bundle({"order:global": 1}, "order:global", 0, 1)
    yield "format 1, last of five events", make_bundle(five, "order:global", 4, 1)


def changed(bundle, path, value):
    copy = json.loads(json.dumps(bundle))
    part = copy
    for name in path[:-1]:
        part = part[name]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return copy


def phantom(count):
    """The last of five events, said to be the sixth: the tree repeats it there."""
    bundle = make_bundle({"order:global": 5, "order:north": 9}, "order:global", 4)
    hashes = chain([raw_event("order:global", i) for i in range(5)])
    bundle["event"]["index"] = 5
    bundle["stream"]["event_count"] = count
    bundle["stream_proof"] = prove(hashes + [hashes[4]], 5)
    return bundle


def phantom_stream():
    """The last of three streams, said to be the fourth."""
    bundle = make_bundle({"order:a": 1, "order:b": 1, "order:c": 1}, "order:c", 0)
    roots = [root_of(chain([raw_event("order:" + one, 0)])) for one in "abcc"]
    bundle["instance_proof"].update(index=3, **prove(roots, 3))
    return bundle


def headless():
    """Signed, but the first event of its stream follows another one."""
    before = some_hashes(1, "other ")[0]
    raw = raw_event("order:global", 0)
    tip = hashlib.sha256((before + raw).encode()).hexdigest()
    root = root_of([tip])
    bundle = make_bundle({"order:global": 1}, "order:global", 0, merkle_root=root_of([root]))
    bundle["event"].update(hash=tip, prev_hash=before)
    bundle["stream"]["merkle_root"] = root
    return bundle


def wrong_bundles():
    good = make_bundle({"order:global": 5, "account:ABCDEFGH1": 3, "order:north": 70}, "order:global", 3)
    other = some_hashes(1, "other ")[0]
    upper = good["event"]["hash"].upper()
    steps = [
        ("form", ["event", "hash"], upper), ("form", ["format"], 3), ("form", ["format"], None),
        ("form", ["anchor", "format"], None), ("form", ["event", "index"], -1),
        ("form", ["event", "index"], 3.5), ("form", ["event", "index"], "3"),
        ("form", ["event", "raw"], None), ("form", ["stream_proof", "directions", 0], "up"),
        ("form", ["anchor", "environment"], "production\",\"x\":\""),
        ("event", ["stream", "key"], "order:north"), ("event", ["event", "raw"], "[]"),
        ("counts", ["event", "index"], 5), ("counts", ["event", "index"], 2),
        ("counts", ["stream", "event_count"], 3), ("counts", ["stream", "event_count"], 79),
        ("counts", ["instance_proof", "stream_count"], 4), ("counts", ["instance_proof", "index"], 3),
        ("counts", ["anchor", "stream_count"], 4), ("counts", ["stream_proof", "directions"], []),
        ("counts", ["stream_proof", "directions", 0], "right"),
        ("counts", ["instance_proof", "directions", 0], "right"),
        ("chain", ["event", "hash"], other), ("chain", ["event", "prev_hash"], other),
        ("chain", ["event", "prev_hash"], ""),
        ("chain", ["event", "raw"], good["event"]["raw"].replace("3", "4", 1)),
        ("stream_proof", ["stream_proof", "siblings", 1], other),
        ("stream_proof", ["stream", "merkle_root"], other),
        ("instance_proof", ["instance_proof", "siblings", 0], other),
        ("instance_proof", ["anchor", "merkle_root"], other),
        ("signature", ["anchor", "created_at"], "2026-03-04T05:06:07.088Z"),
        ("signature", ["anchor", "event_count"], 79), ("signature", ["anchor", "environment"], "staging"),
        ("signature", ["anchor", "instance_id"], INSTANCE.replace("6", "7")),
        ("signature", ["anchor", "public_key"], public_key(sha(SEED))),
        ("signature", ["anchor", "signature"], sign(SEED, b"another text")),
    ]
    for step, path, value in steps:
        yield {"name": "%s is %s" % (".".join(map(str, path)), "absent" if value is None else "changed"),
               "step": step, "bundle": changed(good, path, value)}
    for name, step, bundle in [
            ("a phantom: the sixth of five events", "counts", phantom(5)),
            ("a phantom: the sixth of five events, said to be six", "stream_proof", phantom(6)),
            ("a phantom: the fourth of three streams", "counts", phantom_stream()),
            ("the first event has one before it, signed so", "chain", headless()),
            ("more events than the anchor has, signed so", "counts",
             make_bundle({"order:global": 5, "order:north": 9}, "order:global", 3, event_count=4))]:
        yield {"name": name, "step": step, "bundle": bundle}


def golden_bundles():
    valid = [{"name": name, "bundle": bundle} for name, bundle in bundle_worlds()]
    free = make_bundle({"order:global": 5, "account:ABCDEFGH1": 3}, "order:global", 3)
    for path, value in [(["ok"], None), (["event", "id"], "another"), (["event", "id"], None), (["anchored_at"], "never"),
                        (["anchored_at"], None), (["anchor", "id"], "another"), (["note"], {"by": "somebody"}),
                        (["stream", "event_count"], 6)]:
        if value is None and path[0] not in free:
            continue
        valid.append({"name": "nothing is proved about " + ".".join(path) + (" (absent)" if value is None else ""),
                      "bundle": changed(free, path, value)})
    return {"made_with": "Python hashlib, OpenSSL's Ed25519", "private_key": SEED.hex(), "valid": valid, "refused": list(wrong_bundles())}


def golden_pages():
    raws = [raw_event("order:global", i) for i in range(7)]
    entries = [{"id": "%012d" % i, "hash": one, "raw": raw} for i, (one, raw) in enumerate(zip(chain(raws), raws))]
    return {"made_with": "Python hashlib", "entries": entries}


def write_golden(folder):
    for name, vectors in [("merkle", golden_merkle()), ("anchors", golden_anchors()),
                          ("bundles", golden_bundles()), ("pages", golden_pages()),
                          ("receipts", golden_receipts())]:
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(vectors, file, indent=1, ensure_ascii=True)
            file.write("\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["golden"] and len(sys.argv) == 3:
        write_golden(sys.argv[2])
    elif sys.argv[1:] == ["verify"]:
        serve()
    else:
        sys.exit(__doc__)
