# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The readers of Parquet, from npm, once, in a folder of this user's below /tmp. To be sourced
# behind common.bash. EXPORT_CHDB=1: ClickHouse, too.
: "${work:?}"

# Sets modules to where the readers of Parquet are; empty: they cannot be had.
get_modules() {
  modules=/tmp/patchbay_parquet_readers.$UID${EXPORT_CHDB:+.chdb}
  mkdir -m 700 "$modules" 2>/dev/null
  [[ -O $modules && ! -L $modules ]] || modules=$work/modules
  mkdir -p "$modules"
  exec 9>"$modules/lock"
  flock 9
  [[ -e $modules/complete ]] || (
    cd "$modules" && echo '{}' >package.json &&
      timeout 300 npm install --cache "$modules/cache" --no-audit --no-fund --ignore-scripts \
        @duckdb/node-api@1.5.6-r.1 ${EXPORT_CHDB:+chdb@3.4.0} hyparquet@1.31.5 \
        hyparquet-compressors \
        >npm.log 2>&1 && rm -rf cache && touch complete
  )
  exec 9>&-
  [[ -e $modules/complete ]] || modules=
}
