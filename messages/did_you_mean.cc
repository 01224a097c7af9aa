#include "messages/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

/// Returns the number of edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  std::string_view closest;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter >= least) continue;  // so many edits at least
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least && distance < longer) {
      least = distance;
      closest = candidate;
    }
  }
  return closest.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", closest);
}

}  // namespace troupe
