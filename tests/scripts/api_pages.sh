#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every function that libpatchbay exports for programs is in a page of the manual, and every header
# has one, which man shows without complaint.
#
#   api_pages.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need nm python3
pages=$build/man
[[ -e $pages/patchbay_trace_events.3 ]] || skip "no $pages/patchbay_trace_events.3"

# Without the version behind @@.
exported=$(nm -D --defined-only "$agent" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u)
missing=$(grep '^patchbay_' <<<"$exported" | while read -r name; do
  [[ $name == patchbay_attached ]] && continue  # the tool's alone
  grep -qw -- "$name" "$pages"/*.3 || echo "$name"
done)
same "each exported function is in a page" "" "$missing"
for header in "$here"/../../include/patchbay/*.h; do
  name=$(basename "$header" .h)
  page=$pages/patchbay_$name.3
  [[ $name == patchbay ]] && page=$pages/patchbay.3
  check "a page of $name.h" test -s "$page"
  if command -v man >/dev/null && command -v groff >/dev/null; then
    same "man about $name.h" "" "$(MANWIDTH=150 man --warnings -l "$page" 2>&1 >/dev/null)"
  fi
done
# Each name that a page gives as exported is so.
listed=$(sed -n '/^\.SH EXPORTED NAMES/,/^\.SH SEE/p' "$pages"/*.3 | grep -E '^patchbay_' | sort -u)
same "what the pages list is exported" "" "$(comm -23 <(echo "$listed") <(echo "$exported"))"
finish
