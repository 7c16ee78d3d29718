;; A handler whose state is a digest of its input: {"state":{"digest":"<8 hexadecimal digits>"}}.
;; Its input holds the state before, so the digest after many events depends on all of them, in
;; their order, and on nothing else.
(module
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 4096))
  (data (i32.const 16) "{\"state\":{\"digest\":\"00000000\"}}")

  (func (export "malloc") (param $size i32) (result i32)
    (local $pointer i32)
    (local.set $pointer (global.get $top))
    (global.set $top (i32.add (global.get $top) (local.get $size)))
    (local.get $pointer))

  ;; FNV-1a, 32 bits.
  (func $digest (param $pointer i32) (param $length i32) (result i32)
    (local $hash i32)
    (local $end i32)
    (local.set $hash (i32.const 0x811c9dc5))
    (local.set $end (i32.add (local.get $pointer) (local.get $length)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $pointer) (local.get $end)))
        (local.set $hash
          (i32.mul
            (i32.xor (local.get $hash) (i32.load8_u (local.get $pointer)))
            (i32.const 0x01000193)))
        (local.set $pointer (i32.add (local.get $pointer) (i32.const 1)))
        (br $next)))
    (local.get $hash))

  (func $digit (param $value i32) (result i32)
    (i32.add
      (local.get $value)
      (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $value) (i32.const 10)))))

  (func (export "apply_handler") (param $pointer i32) (param $length i32) (result i64)
    (local $hash i32)
    (local $index i32)
    (local.set $hash (call $digest (local.get $pointer) (local.get $length)))
    ;; The digits begin 20 bytes into the text: from the last to the first.
    (local.set $index (i32.const 8))
    (loop $next
      (local.set $index (i32.sub (local.get $index) (i32.const 1)))
      (i32.store8 offset=36
        (local.get $index)
        (call $digit (i32.and (local.get $hash) (i32.const 15))))
      (local.set $hash (i32.shr_u (local.get $hash) (i32.const 4)))
      (br_if $next (local.get $index)))
    (i64.or (i64.shl (i64.const 16) (i64.const 32)) (i64.const 31))))
