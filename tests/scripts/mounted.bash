# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# For scripts that work in a mount of the stand-in kernel. After common.bash:
#   need_mount                    skips loudly where a FUSE mount cannot be made
#   start_standin [OPTION…]       $standin is its pid, $mounted its tree
#   start_in_place IN OUT PROGRAM…  another program instead, with this input and output
#   stop_standin
standin='' mounter='' mounted=$work/tracefs

need_mount() {
  ((EUID == 0)) || skip "mounting and the kernel's tests need root"
  [[ -c /dev/fuse ]] || skip "there is no /dev/fuse here"
  command -v fusermount3 >/dev/null || skip "fusermount3 (fuse3) is not installed"
  [[ -x $build/tests/standin/standin ]] || skip "the stand-in kernel is not built"
}
is_mounted() { [[ -e $mounted/tracing_on ]]; }
start_standin() {
  mkdir -p "$mounted"
  LD_PRELOAD=$agent "$build/tests/standin/standin" "$@" >"$work/standin.out" 2>"$work/standin.err" &
  standin=$!
  started $standin
  wait_for 10 grep -q '^standin ' "$work/standin.out" || { fail "the stand-in starts"; return 1; }
  mount_tree
}
start_in_place() {
  local in=$1 out=$2
  shift 2
  mkdir -p "$mounted"
  LD_PRELOAD=$agent "$@" <"$in" >"$out" 2>"$work/standin.err" &
  standin=$!
  started $standin
  mount_tree
}
mount_tree() {
  wait_for 10 test -S "$PATCHBAY_DIR/$standin/ctl.sock"
  "$patchbay" mount --foreground -p $standin "$mounted" >"$work/mount.out" 2>&1 &
  mounter=$!
  started $mounter
  wait_for 10 is_mounted && return
  fail "patchbay mount: $(head -n 3 "$work/mount.out")"
  return 1
}
stop_standin() {
  umount "$mounted" 2>/dev/null || umount -l "$mounted" 2>/dev/null
  kill $mounter 2>/dev/null
  kill $standin 2>/dev/null
  wait $mounter $standin 2>/dev/null
  standin='' mounter=''
}
# The mount before the folder: common.bash removes $work.
unmount_and_clean() {
  [[ -z $standin ]] || stop_standin
  cleanup
}
trap unmount_and_clean EXIT
