#include "messages/all.h"

#include <array>
#include <cstddef>
#include <utility>

namespace troupe::msg {

namespace {

template <std::size_t... Is>
constexpr auto list_words(std::index_sequence<Is...>) {
  return std::array{std::variant_alternative_t<Is, AnyMessage>::kWord...};
}

/// In the order of AnyMessage.
constexpr auto kWords = list_words(std::make_index_sequence<std::variant_size_v<AnyMessage>>());

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kWords[i].number == kWords[j].number || kWords[i].name == kWords[j].name) return false;
    }
  }
  return true;
}
static_assert(all_distinct(), "two messages have one number or name");

}  // namespace

const Word& word_of(const AnyMessage& message) { return kWords.at(message.index()); }

const Word* find_word(MessageTag tag) {
  for (const Word& word : kWords) {
    if (word.tag() == tag) return &word;
  }
  return nullptr;
}

}  // namespace troupe::msg
