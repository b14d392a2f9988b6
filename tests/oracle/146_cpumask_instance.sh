# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The mask of an instance.
mkdir instances/one
w instances/one/tracing_cpumask 1
r instances/one/tracing_cpumask
r tracing_cpumask >/dev/null
[ "$(cat tracing_cpumask)" = "$ALL_CPUS" ] && echo unchanged
