# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 255 bytes are the longest name.
name=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
name=$name$name$name$name
call mkdir "instances/$name"
call mkdir "instances/${name#x}"
call rmdir "instances/${name#x}"
