#include "messages/all.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace troupe::msg {

namespace {

template <class... M>
constexpr auto list_infos(MessageList<M...>) {
  return std::array{M::kInfo...};
}

/// In the order of Messages.
constexpr auto kInfos = list_infos(Messages{});

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kInfos[i].number == kInfos[j].number || kInfos[i].name == kInfos[j].name) return false;
    }
  }
  return true;
}
static_assert(all_distinct(), "two messages have one number or name");

/// How one type of message is copied, moved elsewhere and destroyed.
struct MessageOps {
  void (*copy)(void* to, const void* from);
  void (*relocate)(void* to, void* from) noexcept;
  void (*destroy)(void* message) noexcept;
};

template <class... M>
constexpr auto list_ops(MessageList<M...>) {
  static_assert((std::is_nothrow_move_constructible_v<M> && ...));
  return std::array{MessageOps{[](void* to, const void* from) { ::new (to) M(*static_cast<const M*>(from)); },
                               [](void* to, void* from) noexcept {
                                 M* const held = static_cast<M*>(from);
                                 ::new (to) M(std::move(*held));
                                 held->~M();
                               },
                               [](void* message) noexcept { static_cast<M*>(message)->~M(); }}...};
}

/// In the order of Messages.
constexpr auto kOps = list_ops(Messages{});

}  // namespace

AnyMessage::AnyMessage(const AnyMessage& other) : index_(other.index_) {
  if (index_ != kNone) kOps[index_].copy(storage_, other.storage_);
}

AnyMessage& AnyMessage::operator=(const AnyMessage& other) {
  if (this != &other) *this = AnyMessage(other);
  return *this;
}

AnyMessage& AnyMessage::operator=(AnyMessage&& other) noexcept {
  if (this == &other) return *this;
  reset();
  take(other);
  return *this;
}

/// REQUIRES: this holds none.
void AnyMessage::take(AnyMessage& other) noexcept {
  if (other.index_ == kNone) return;
  kOps[other.index_].relocate(storage_, other.storage_);
  index_ = std::exchange(other.index_, kNone);
}

/// REQUIRES: this holds one.
void AnyMessage::destroy() noexcept { kOps[std::exchange(index_, kNone)].destroy(storage_); }

std::logic_error AnyMessage::wrong_type(const MessageInfo& wanted) const {
  return std::logic_error(fmt::format("[message] {} was expected, this is {}", wanted.name,
                                      index_ == kNone ? "none" : info_of(*this).name));
}

const MessageInfo& info_of(const AnyMessage& message) { return kInfos.at(message.index()); }

const MessageInfo* find_info(MessageTag tag) {
  for (const MessageInfo& info : kInfos) {
    if (info.tag() == tag) return &info;
  }
  return nullptr;
}

}  // namespace troupe::msg
