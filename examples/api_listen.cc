// SPDX-License-Identifier: MIT
//
// A watchdog inside the program: it listens to the program's events and puts them together to a
// state, without a tool and without a buffer. A lease that is taken must be given back before the
// next one is taken. The watchdog reports a thread that breaks this rule at once, in that thread.
//
//   ./api_listen
//     lease 3 of ann is taken, and 2 of bob is not given back
#include <patchbay/trace_event.h>

#include <cstdio>
#include <patchbay/patchbay.hpp>
#include <string>

PB_TRACE_EVENT(lease, taken, PB_FIELDS(PB_FIELD(int, id), PB_STRING(who)));
PB_TRACE_EVENT(lease, given_back, PB_FIELDS(PB_FIELD(int, id)));

namespace {

void take(int id, const char* who) { PB_TRACE(taken, id, who); }
void give_back(int id) { PB_TRACE(given_back, id); }

struct Watchdog {
  int held = 0;
  int mistakes = 0;
  std::string holder;

  void on_taken(int id, std::string_view who) {
    if (held) {
      mistakes++;
      std::printf("lease %d of %.*s is taken, and %d of %s is not given back\n", id,
                  int(who.size()), who.data(), held, holder.c_str());
    }
    held = id;
    holder = who;
  }
  void on_given_back(int id) {
    if (held == id) held = 0;
  }
};

}  // namespace

int main() {
  using patchbay::field;
  Watchdog dog;
  auto taken = patchbay::subscribe<field<int, "id">, field<std::string_view, "who">>(
      "lease:taken", [&dog](int id, std::string_view who) { dog.on_taken(id, who); });
  auto given = patchbay::subscribe<field<int, "id">>("lease:given_back",
                                                     [&dog](int id) { dog.on_given_back(id); });
  if (!taken || !given) {
    std::fprintf(stderr, "nobody listens: %s\n", taken.error().message());
    return 1;
  }
  take(1, "ann");
  give_back(1);
  take(2, "bob");
  take(3, "ann");
  give_back(3);
  taken->end();
  take(4, "nobody");
  take(5, "nobody");  // nobody listens any more
  return dog.mistakes == 1 ? 0 : 1;
}
