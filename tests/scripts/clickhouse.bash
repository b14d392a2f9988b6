# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Servers of ClickHouse on loopback, in the script's own folder. To be sourced behind common.bash.

# free_port : a port that nobody listens on now.
free_port() {
  python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# clickhouse_config NUMBER : server NUMBER of the two of a cluster, in $work/chNUMBER. Its ports are
# those of the arrays http_port and tcp_port.
declare -A http_port tcp_port clickhouse_pid
clickhouse_ports() {
  local number
  for number in "$@"; do
    http_port[$number]=$(free_port)
    tcp_port[$number]=$(free_port)
  done
}
clickhouse_config() {
  local home=$work/ch$1 number
  mkdir -p "$home"/{data,tmp,log,format}
  {
    cat <<END
<yandex>
  <logger><level>warning</level><log>$home/log/server.log</log>
    <errorlog>$home/log/error.log</errorlog><size>10M</size><count>1</count></logger>
  <http_port>${http_port[$1]}</http_port>
  <tcp_port>${tcp_port[$1]}</tcp_port>
  <interserver_http_port>$(free_port)</interserver_http_port>
  <listen_host>127.0.0.1</listen_host>
  <path>$home/data/</path><tmp_path>$home/tmp/</tmp_path>
  <format_schema_path>$home/format/</format_schema_path>
  <user_files_path>$home/tmp/</user_files_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>16777216</mark_cache_size>
  <remote_servers><pair>
END
    for number in "${!tcp_port[@]}"; do
      echo "    <shard><replica><host>127.0.0.1</host><port>${tcp_port[$number]}</port>"
      echo '    </replica></shard>'
    done
    echo '  </pair></remote_servers>'
    echo '</yandex>'
  } >"$home/config.xml"
  cat >"$home/users.xml" <<'END'
<yandex>
  <profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
      <quota>default</quota></default>
    <shipper><password>s3cret word</password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota></shipper>
  </users>
  <quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors>
    <result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time>
  </interval></default></quotas>
</yandex>
END
}
# sql NUMBER STATEMENT : its answer.
sql() { curl -sS --noproxy '*' "http://127.0.0.1:${http_port[$1]}/" --data-binary "$2"; }
clickhouse_answers() { [[ $(sql "$1" 'SELECT 1' 2>/dev/null) == 1 ]]; }
# clickhouse_start NUMBER : waits until it answers. Skips the script where it does not start.
clickhouse_start() {
  local home=$work/ch$1
  (cd "$home" && exec clickhouse-server --config-file="$home/config.xml") \
    >"$home/out" 2>&1 </dev/null &
  clickhouse_pid[$1]=$!
  started "${clickhouse_pid[$1]}"
  wait_for 60 clickhouse_answers "$1" ||
    skip "clickhouse-server does not start: $(tail -n 3 "$home/out" "$home/log/error.log" 2>&1)"
}
clickhouse_kill() {
  kill -9 "${clickhouse_pid[$1]}"
  wait "${clickhouse_pid[$1]}" 2>/dev/null
}
