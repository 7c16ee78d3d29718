/** A self-signed certificate, made by openssl. */

import assert from "node:assert/strict";
import { join } from "node:path";

export interface Certificate {
  /** In PEM. */
  readonly cert: string;
  readonly key: string;
  readonly certPath: string;
}

/** Makes a certificate for these names and addresses in `directory`, valid for one day. */
export async function makeCertificate(
  directory: string,
  names: readonly string[],
): Promise<Certificate> {
  const [certPath, keyPath] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  const { success, stderr } = await new Deno.Command("openssl", {
    args: ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
      .concat(["-keyout", keyPath, "-out", certPath, "-days", "1", "-subj", "/CN=localhost"])
      .concat(["-addext", `subjectAltName=${names.join(",")}`])
      .concat(["-addext", "basicConstraints=critical,CA:FALSE"]),
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const [cert, key] = await Promise.all([certPath, keyPath].map((path) => Deno.readTextFile(path)));
  return { cert: cert!, key: key!, certPath };
}
