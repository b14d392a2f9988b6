// SPDX-License-Identifier: MIT
// Loaded by dlopen_probes.c: a USDT probe, written as a note by hand, without a semaphore.
void plugged(long n);
void plugged(long n) {
  __asm__ volatile(
      "990: nop\n"
      ".pushsection .note.stapsdt,\"\",\"note\"\n"
      ".balign 4\n"
      ".4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n"
      "992: .balign 4\n"
      "993: .8byte 990b, 0, 0\n"
      ".asciz \"plug\"\n"
      ".asciz \"hit\"\n"
      ".asciz \"-8@%0\"\n"
      "994: .balign 4\n"
      ".popsection\n"
      :
      : "r"(n));
}
