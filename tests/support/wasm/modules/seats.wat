;; A handler that gives away three seats: the state is {"n":"a"}, {"n":"aa"}, {"n":"aaa"}, and a
;; fourth event is refused. So how many events were taken shows in the state, and each verdict
;; depends on the state before.
(module
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 4096))
  (data (i32.const 16) "{\"state\":{\"n\":\"")
  (data (i32.const 256)
    "{\"error\":{\"type\":\"sold_out\",\"message\":\"All seats are taken\",\"code\":\"S1\",\"context\":{\"seats\":3}}}")

  (func (export "malloc") (param $size i32) (result i32)
    (local $pointer i32)
    (local.set $pointer (global.get $top))
    (global.set $top (i32.add (global.get $top) (local.get $size)))
    (local.get $pointer))

  ;; The input begins {"state":{} or {"state":{"n":"aa"}: the letters begin at 15.
  (func (export "apply_handler") (param $pointer i32) (param $length i32) (result i64)
    (local $taken i32)
    (local $end i32)
    (block $counted
      (br_if $counted
        (i32.ne (i32.load8_u offset=10 (local.get $pointer)) (i32.const 34)))
      (loop $next
        (br_if $counted
          (i32.ne
            (i32.load8_u offset=15 (i32.add (local.get $pointer) (local.get $taken)))
            (i32.const 97)))
        (local.set $taken (i32.add (local.get $taken) (i32.const 1)))
        (br $next)))
    (if (i32.ge_u (local.get $taken) (i32.const 3))
      (then
        (return (i64.or (i64.shl (i64.const 256) (i64.const 32)) (i64.const 95)))))
    ;; The text and one letter more, then "}}.
    (local.set $taken (i32.add (local.get $taken) (i32.const 1)))
    (memory.fill (i32.const 31) (i32.const 97) (local.get $taken))
    (local.set $end (i32.add (i32.const 31) (local.get $taken)))
    (i32.store8 (local.get $end) (i32.const 34))
    (i32.store8 offset=1 (local.get $end) (i32.const 125))
    (i32.store8 offset=2 (local.get $end) (i32.const 125))
    (i64.or
      (i64.shl (i64.const 16) (i64.const 32))
      (i64.extend_i32_u (i32.sub (i32.add (local.get $end) (i32.const 3)) (i32.const 16))))))
