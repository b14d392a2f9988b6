// SPDX-License-Identifier: MIT
// A library that does not load: nobody has this function.
extern "C" void patchbay_nobody_has_this();
extern "C" __attribute__((visibility("default"))) int patchbay_attached(int, int) {
  return patchbay_nobody_has_this(), 0;
}
