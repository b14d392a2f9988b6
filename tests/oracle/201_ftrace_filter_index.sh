# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Numbers are lines of available_filter_functions; bases as in C.
nth() {
  [ "$(sed -n "$1p" available_filter_functions)" = "$(cat set_ftrace_filter)" ] && echo same
}
t set_ftrace_filter '1\n'
nth 1
t set_ftrace_filter '12\n'
nth 12
t set_ftrace_filter '0xc\n'
nth 12
t set_ftrace_filter '014\n'
nth 12
t set_ftrace_filter '0X0c\n'
nth 12
echo 1 12 >set_ftrace_filter
wc -l <set_ftrace_filter
w set_ftrace_filter '!1\n'
nth 12
last=$(wc -l <available_filter_functions)
echo "$last" >set_ftrace_filter && nth "$last"
echo $((last + 1)) >set_ftrace_filter || r set_ftrace_filter
