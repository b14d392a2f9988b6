// SPDX-License-Identifier: MIT
// A module of the stand-in kernel: writes lines of all kinds of printk when it is loaded, once by
// itself and once as if in an interrupt. The kernel's tests look for these words.
#include <patchbay/trace.h>

// Texts that the compiler cannot take for constants.
static char puts_text[] = "This is a dynamic string that will use trace_puts\n";
static char printk_text[] = "This is a %s that will use trace_printk\n";
static char irq_puts_text[] = "(irq) This is a dynamic string that will use trace_puts\n";
static char irq_printk_text[] = "(irq) This is a %s that will use trace_printk\n";

void trace_printk_irq_work(const char* kind);
__attribute__((noinline)) void trace_printk_irq_work(const char* kind) {
  char* volatile text = irq_puts_text;
  trace_puts("(irq) This is a static string that will use trace_bputs\n");
  trace_puts(text);
  trace_printk("(irq) This is a %s that will use trace_bprintk()\n", kind);
  text = irq_printk_text;
  trace_printk(text, "dynamic string");
}

__attribute__((constructor)) static void load(void) {
  char* volatile text = puts_text;
  trace_puts("This is a static string that will use trace_bputs\n");
  trace_puts(text);
  trace_printk("This is a %s that will use trace_bprintk()\n", "static string");
  text = printk_text;
  trace_printk(text, "dynamic string");
  trace_printk_irq_work("static string");
}
