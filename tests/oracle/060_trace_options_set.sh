# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# name and noname.
for text in nomarkers markers ' nooverwrite ' 'overwrite\n' 'sym-offset' 'nosym-offset' 'nosuch' \
  'nonosuch' 'no' ' ' 'nomarkers markers' 'no markers' 'MARKERS' 'markersx' 'marker'; do
  w trace_options "$text"
done
r trace_options | grep -e markers -e overwrite -e sym-offset
call fill trace_options 63
call fill trace_options 64
call fill trace_options 100
