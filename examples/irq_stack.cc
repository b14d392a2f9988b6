// SPDX-License-Identifier: MIT
//
// An interrupt handler that gets one pointer to saved registers, as the kernel's do_IRQ does. The
// word 128 bytes behind the pointer is a code address; six words from there are the frame.
//
//   patchbay record -e 'do_irq(symbol ip[16] | x64[6] irq_stack[16])' -- ./irq_stack
//
// shows  handle_interrupt->do_irq(ip=idle_loop+0x0/0x.., irq_stack=…,10,246,7ffc12345678,18,ff)
#include <cstdint>
#include <cstdio>

struct SavedRegisters {
  uint64_t general[16];  // 128 bytes
  uint64_t ip;           // from here on what the processor pushes
  uint64_t cs;
  uint64_t flags;
  uint64_t sp;
  uint64_t ss;
  uint64_t vector;
};

extern "C" {
[[gnu::noinline]] int idle_loop(int turns) {
  asm volatile("" : "+r"(turns)::"memory");
  return turns + 1;
}

[[gnu::noinline]] uint64_t do_irq(const SavedRegisters* registers) {
  asm volatile("" : "+r"(registers)::"memory");
  return registers->vector;
}

[[gnu::noinline]] uint64_t handle_interrupt(uint64_t vector) {
  SavedRegisters registers{};
  registers.ip = reinterpret_cast<uint64_t>(&idle_loop);
  registers.cs = 0x10;
  registers.flags = 0x246;
  registers.sp = 0x7ffc12345678;
  registers.ss = 0x18;
  registers.vector = vector;
  uint64_t handled = do_irq(&registers);
  asm volatile("" : "+r"(handled)::"memory");  // no tail call: the caller stays on the stack
  return handled;
}
}

int main() {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 3; ++i) sum += handle_interrupt(0xff - i);
  std::printf("irq_stack: 3 interrupts, sum %lu, idle %d\n", sum, idle_loop(1));
  return 0;
}
