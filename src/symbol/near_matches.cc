// SPDX-License-Identifier: MIT
//
// "Did you mean": names near a wrong one among some 100,000. Most are dismissed by their length and
// by the set of their letters; the rest is measured with the edit distance, bounded by the worst
// match that still counts.
#include <algorithm>
#include <bit>

#include "base/text.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMaxLength = 256;
constexpr int kFar = 1000000;

int letter_number(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : static_cast<unsigned char>(c);
}

// One bit a letter, without case; other characters share the rest.
uint64_t letters_of(std::string_view text) {
  uint64_t letters = 0;
  for (char c : text) letters |= uint64_t{1} << letter_number(c) % 64;
  return letters;
}

bool same_letter(char a, char b) { return a == b || ((a ^ b) == 32 && is_letter(a)); }

// Insertions, deletions, substitutions and swaps of neighbours cost 2, another case 1; kFar when it
// exceeds `bound`.
int edit_cost(std::string_view a, std::string_view b, int bound) {
  int rows[3][kMaxLength + 1];
  int *before = rows[0], *last = rows[1], *now = rows[2];
  for (size_t j = 0; j <= b.size(); ++j) last[j] = int(2 * j);
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = int(2 * i);
    int best = now[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      int change = a[i - 1] == b[j - 1] ? 0 : same_letter(a[i - 1], b[j - 1]) ? 1 : 2;
      int cost = std::min({last[j - 1] + change, last[j] + 2, now[j - 1] + 2});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost = std::min(cost, before[j - 2] + 2);
      now[j] = cost;
      best = std::min(best, cost);
    }
    if (best > bound) return kFar;
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()] <= bound ? last[b.size()] : kFar;
}

int cost_of(std::string_view wrong, uint64_t letters, std::string_view candidate, int bound) {
  int best = kFar;
  int difference = std::abs(int(wrong.size()) - int(candidate.size()));
  // Half a word was typed: better than most typing errors, the shorter the completion the better.
  if (wrong.size() >= 3 && candidate.starts_with(wrong)) best = 3 + std::min(difference, 20) / 8;
  if (wrong.size() >= 4 && best == kFar && candidate.find(wrong) != candidate.npos) {
    best = 5 + std::min(difference, 20) / 8;
  }
  if (2 * difference > bound) return best;
  // A change replaces at most one letter by another: two bits.
  if (std::popcount(letters ^ letters_of(candidate)) > bound) return best;
  return std::min(best, edit_cost(wrong, candidate, bound));
}

}  // namespace

std::vector<std::string> near_matches(std::string_view wrong,
                                      const std::vector<std::string_view>& candidates,
                                      size_t limit) {
  if (wrong.empty() || wrong.size() > kMaxLength) return {};
  uint64_t letters = letters_of(wrong);
  int bound = int(std::clamp<size_t>(2 * wrong.size() / 3, 2, 10));
  struct Match {
    int cost;
    std::string_view name;
    bool operator<(const Match& other) const {
      if (cost != other.cost) return cost < other.cost;
      if (name.size() != other.name.size()) return name.size() < other.name.size();
      return name < other.name;
    }
    bool operator==(const Match& other) const { return name == other.name; }
  };
  std::vector<Match> matches;
  for (std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxLength) continue;
    int cost = cost_of(wrong, letters, candidate, bound);
    if (cost != kFar) matches.push_back({cost, candidate});
  }
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  std::vector<std::string> result;
  for (size_t i = 0; i < matches.size() && i < limit; ++i) result.emplace_back(matches[i].name);
  return result;
}

}  // namespace patchbay
