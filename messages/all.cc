#include "messages/all.h"

#include <array>
#include <cstddef>
#include <utility>

namespace troupe::msg {

namespace {

template <std::size_t... Is>
constexpr auto list_infos(std::index_sequence<Is...>) {
  return std::array{std::variant_alternative_t<Is, AnyMessage>::kInfo...};
}

/// In the order of AnyMessage.
constexpr auto kInfos = list_infos(std::make_index_sequence<std::variant_size_v<AnyMessage>>());

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kInfos[i].number == kInfos[j].number || kInfos[i].name == kInfos[j].name) return false;
    }
  }
  return true;
}
static_assert(all_distinct(), "two messages have one number or name");

}  // namespace

const MessageInfo& info_of(const AnyMessage& message) { return kInfos.at(message.index()); }

const MessageInfo* find_info(MessageTag tag) {
  for (const MessageInfo& word : kInfos) {
    if (word.tag() == tag) return &word;
  }
  return nullptr;
}

}  // namespace troupe::msg
