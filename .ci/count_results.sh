# count_results STATUS < output : prints "PASSED FAILED" from the last summary line of `deno test`,
# such as "FAILED | 120 passed (14 steps) | 2 failed (1 step) | 3 ignored (9s)". Steps are not
# counted. A run that failed without a failed test, or ended without a summary, is one failure.
count_results() {
  sed -e 's/\x1b\[[0-9;]*m//g' | awk -v status="$1" '
    /^(ok|FAILED) \| [0-9]+ passed/ { summary = $0 }
    END {
      passed = 0; failed = 0
      count = split(summary, parts, " \\| ")
      for (i = 2; i <= count; i++) {
        split(parts[i], words, " ")
        if (words[2] == "passed") passed = words[1]
        if (words[2] == "failed") failed = words[1]
      }
      if (failed == 0 && (summary == "" || status != 0)) failed = 1
      print passed, failed
    }'
}
