#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay report makes lines side by side: they are the same as those of one thread, byte for byte,
# whatever was recorded, and an output that takes no more ends it.
#   report_threads.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need g++ taskset
cd "$work" || exit 1
[[ $(nproc) -ge 2 ]] || skip "one CPU makes one thread"
one=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')

cat >calls.cc <<'EOC'
#include <cstdlib>
#include <thread>
#include <vector>
extern "C" __attribute__((noinline)) int leaf(int n, const char* text) {
  asm volatile("" : : "r"(text));
  return n + 1;
}
extern "C" __attribute__((noinline)) int outer(int n, const char* text) {
  asm volatile("");
  return leaf(n, text) + leaf(n + 1, text);
}
int main(int, char** argv) {
  static const char* const kTexts[] = {"one", "two\nlines", "\x1b[31m", "f\xc3\xbcnf"};
  const int calls = std::atoi(argv[1]);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([calls] {
      int sum = 0;
      for (int n = 0; n < calls; n++) sum += outer(n, kTexts[n % 4]);
      if (sum == 42) std::abort();
    });
  for (std::thread& thread : threads) thread.join();
}
EOC
check "the program is compiled" g++ -O1 -pthread -o calls calls.cc

record() {
  local file=$1
  shift
  "$patchbay" record -q -o "$file" "$@" >/dev/null 2>record.err ||
    fail "$file: $(cat record.err)"
}
record whole.dat -b 16M -e 'outer(int n, string text)' -e 'leaf(int n, string text)' \
  -- ./calls 2500
record lost.dat -b 16K -e 'outer(int n, string text)' -e 'leaf(int n, string text)' \
  -- ./calls 4000
record dropped.dat -b 16K --mode drop -e 'leaf(int n, string text)' -- ./calls 6000
record graph.dat -b 16M -t function_graph -l outer -l leaf -- ./calls 2000
record shop.dat -b 16M -e shop -- "$examples/static_events" 25000
check "they are merged" "$patchbay" merge -o merged.dat whole.dat lost.dat dropped.dat shop.dat \
  >/dev/null 2>&1
cp merged.dat damaged.dat
size=$(stat -c %s damaged.dat)
for place in 3 5 7 8; do
  head -c 3000 /dev/zero | tr '\0' '\377' |
    dd of=damaged.dat bs=1 seek=$((size / 10 * place)) conv=notrunc status=none
done

for file in whole lost dropped graph shop merged damaged; do
  lines=$("$patchbay" report -i $file.dat 2>/dev/null | wc -l)
  [[ $file == lost || $file == dropped ]] ||
    check "$file.dat is several batches ($lines lines)" test "$lines" -gt 20000
  for form in "" "--json" "--fields comm,tid,cpu,time,event,n,trace" "--deltatime" \
    "--from +2ms --cpu 0,1" "-e leaf -e shop"; do
    # shellcheck disable=SC2086
    taskset -c "$one" "$patchbay" report -i $file.dat $form >expected 2>expected.err
    for ((i = 0; i < 2; i++)); do
      # shellcheck disable=SC2086
      "$patchbay" report -i $file.dat $form >actual 2>actual.err
      check "$file.dat $form" cmp expected actual
      check "$file.dat $form: what is said about it" cmp expected.err actual.err
    done
  done
done
has "losses are among the lines" \
  "$(for file in lost dropped; do "$patchbay" report -i $file.dat; done 2>/dev/null |
    grep -v leaf)" LOST

# --- an output that ends
same "a reader that leaves" "# tracer: nop" \
  "$("$patchbay" report -i whole.dat 2>/dev/null | head -n 1)"
"$patchbay" report -i whole.dat >/dev/full 2>full.err
same "a full disk" 1 $?
has "… is named" "$(cat full.err)" "standard output"
finish
