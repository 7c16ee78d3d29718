;; A handler that would betray a state kept between calls: it counts its calls in a global, in its
;; memory and in a table's size, and returns what it counted: {"state":{"calls":1}} for ever.
(module
  (memory (export "memory") 1)
  (table $entries 1 100 funcref)
  (global $top (mut i32) (i32.const 4096))
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 16) "{\"state\":{\"calls\":0}}")

  (func (export "malloc") (param $size i32) (result i32)
    (local $pointer i32)
    (local.set $pointer (global.get $top))
    (global.set $top (i32.add (global.get $top) (local.get $size)))
    (local.get $pointer))

  (func (export "apply_handler") (param i32 i32) (result i64)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))
    (drop (table.grow $entries (ref.null func) (i32.const 1)))
    (drop (memory.grow (i32.const 1)))
    ;; Any of the four that is not as it was at the start shows.
    (i32.store8 (i32.const 34)
      (i32.add (i32.const 44)
        (i32.add
          (i32.add (global.get $calls) (i32.load (i32.const 1024)))
          (i32.add (i32.sub (table.size $entries) (i32.const 1))
            (i32.add (memory.size) (i32.const 0))))))
    (i64.or (i64.shl (i64.const 16) (i64.const 32)) (i64.const 21))))
