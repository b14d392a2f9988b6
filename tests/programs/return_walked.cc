// SPDX-License-Identifier: MIT
// Code that walks its own stack by return addresses calls hooked functions: code that the program
// has made by itself, functions with the names of V8's builtins, and an object as OCaml's compiler
// makes it. Their calls find the address where they have put it; those of ordinary code return
// through the hook.
// probe: ret_walked
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include <string>

#include "return_program.h"

namespace {
constexpr int kCalls = 200;
constexpr size_t kPage = 4096;
const char* code_begin;
const char* code_end;
int found;
}  // namespace

extern "C" {
// What a garbage collector does with a frame: is the return address at `word` in this code?
KEEP void look(const long* word) {
  const char* address = *reinterpret_cast<const char* const*>(word);
  found += address >= code_begin && address < code_end;
}
KEEP long ret_walked(const long* word, long n) {
  if (code_begin) look(word);
  return after_call(n + 1);
}
// The name of a function of V8's embedded code.
KEEP long Builtins_Calls(long n) {
  long word = 0;
  return after_call(ret_walked(&word, n));
}
}

namespace {

// mov %rsp,%rdi; sub $16,%rdi (where the call below puts the address); push %rbp; mov $..,%rax;
// call *%rax; pop %rbp; ret
using Made = long (*)(const long*, long);
Made make_code() {
  auto* page = static_cast<unsigned char*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  unsigned char code[] = {0x48, 0x89, 0xe7, 0x48, 0x83, 0xef, 0x10, 0x55, 0x48, 0xb8, 0,
                          0,    0,    0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};
  const auto target = reinterpret_cast<long>(&ret_walked);
  memcpy(code + 10, &target, sizeof target);
  memcpy(page, code, sizeof code);
  mprotect(page, kPage, PROT_READ | PROT_EXEC);
  code_begin = reinterpret_cast<const char*>(page);
  code_end = code_begin + kPage;
  return reinterpret_cast<Made>(page);
}

// Code that is made while the program runs, at another place each time.
void call_from_made_code() {
  long sum = 0;
  for (int i = 0; i < kCalls / 10; i++) {
    const Made made = make_code();
    for (int k = 0; k < 10; k++) sum += made(nullptr, k);
    munmap(const_cast<char*>(code_begin), kPage);
  }
  code_begin = code_end = nullptr;
  printf("made code: %d of %d found, sum %ld\n", found, kCalls, sum);
}

void call_from_library(void* library) {
  if (!library) return void(printf("%s\n", dlerror()));
  using Calls = long (*)(long (*)(const long*, long), long);
  auto calls = reinterpret_cast<Calls>(dlsym(library, "caml_calls"));
  long sum = 0;
  for (int i = 0; i < kCalls; i++) sum += calls(ret_walked, i);
  printf("library: sum %ld\n", sum);
}

}  // namespace

int main(int, char** argv) {
  const std::string self = argv[0];
  const std::string name = self.substr(0, self.rfind('/') + 1) + "walked_frames_so.so";
  void* library = dlopen(name.c_str(), RTLD_NOW);
  gate();
  call_from_made_code();
  long sum = 0;
  for (int i = 0; i < kCalls; i++) sum += Builtins_Calls(i);
  printf("builtins: sum %ld\n", sum);
  call_from_library(library);
  for (int i = 0; i < kCalls; i++) {
    long word = 0;
    sum += after_call(ret_walked(&word, i));
  }
  printf("sum %ld\ncalls ret_walked %d\n", sum, 4 * kCalls);
  printf("ends\n");
  gate();
}
