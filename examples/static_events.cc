// SPDX-License-Identifier: MIT
//
// A shop with static events of its own. Try
//   patchbay record -e shop -- build/release/examples/static_events
//   patchbay record -e shop:shop_sold -f 'price > 900' -- build/release/examples/static_events
// and `patchbay report`. Without patchbay it runs as if the events were not there.
#include <patchbay/trace_event.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

enum Payment { kCash, kCard, kVoucher };
#define SHOP_GIFT 1
#define SHOP_RETURN 2

PB_TRACE_EVENT(
    shop, shop_sold,
    PB_FIELDS(PB_FIELD(unsigned int, item), PB_FIELD(int, price), PB_FIELD(enum Payment, payment),
              PB_FIELD(unsigned long, flags), PB_STRING(customer)),
    PB_PRINT("item=%u price=%d payment=%s flags=%s customer=%s", REC->item, REC->price,
             __print_symbolic(REC->payment, {kCash, "cash"}, {kCard, "card"},
                              {kVoucher, "voucher"}),
             __print_flags(REC->flags, "|", {SHOP_GIFT, "gift"}, {SHOP_RETURN, "return"}),
             __get_str(customer)),
    PB_ENUMS(kCash, kCard, kVoucher));

// No print format: every field as name=value.
PB_TRACE_EVENT(shop, shop_closed,
               PB_FIELDS(PB_ARRAY(char, name, 16), PB_DYNAMIC_ARRAY(int, takings),
                         PB_FIELD(long, total)));

namespace {

struct Shop {
  std::string name;
  std::vector<int> takings;

  void sell(unsigned item, int price, Payment payment, const std::string& customer) {
    takings.push_back(price);
    PB_TRACE(shop_sold, item, price, payment, price < 50 ? SHOP_GIFT : 0, customer);
  }
  void close() const {
    if (!PB_TRACE_ENABLED(shop_closed)) return;
    long total = 0;  // only the event wants it
    for (int price : takings) total += price;
    PB_TRACE(shop_closed, name.c_str(), takings.data(), takings.size(), total);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int sales = argc > 1 ? std::atoi(argv[1]) : 20;
  static const char* const kCustomers[] = {"Ada", "Grace", "Edsger", "Barbara"};
  Shop shop{"corner shop", {}};
  for (int i = 0; i < sales; i++)
    shop.sell(unsigned(i % 7), (i * 37) % 1000, Payment(i % 3), kCustomers[i % 4]);
  shop.close();
  std::printf("%d sales\n", sales);
}
