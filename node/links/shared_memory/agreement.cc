#include "node/links/shared_memory/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace troupe::detail {

void Agreement::asked(std::string missing, TimePoint now) {
  if (state_ == State::failed) return;
  if (state_ != State::asked || why_ != missing) asked_at_ = now;
  if (state_ != State::asked) {
    repeated_at_ = now;
    repeats_ = 0;
  }
  state_ = State::asked;
  why_ = std::move(missing);
}

void Agreement::failed(std::string why) {
  if (state_ == State::failed) return;
  state_ = State::failed;
  why_ = std::move(why);
}

void Agreement::reached() {
  state_ = State::reached;
  why_.clear();
}

bool Agreement::is_to_be_repeated(TimePoint now, Duration patience) {
  if (state_ != State::asked || now - repeated_at_ < patience * (1 << repeats_)) return false;
  repeated_at_ = now;
  repeats_ = std::min(repeats_ + 1, kDoublingsMax);
  return true;
}

bool Agreement::has_news(TimePoint now, Duration patience) const {
  return !told_ && (state_ == State::failed || (state_ == State::asked && now - asked_at_ >= patience));
}

std::optional<std::string> Agreement::news(TimePoint now, Duration patience) {
  if (!has_news(now, patience)) return std::nullopt;
  told_ = true;
  return why_;
}

PeerTransport transport_of(const Agreement& memory, const Agreement& ring, const Agreement& room,
                           const PeerTransport& below) {
  PeerTransport transport = below;
  if (memory.is_reached()) transport = {.way = "shared memory", .why = {}};
  if (ring.is_reached()) transport.way += " + ring";
  const auto add = [&transport](std::string_view what, const std::string& why) {
    transport.why += fmt::format("{}{}: {}", transport.why.empty() ? "" : "; ", what, why);
  };
  if (!memory.is_reached() && !ring.is_reached() && memory.why() == ring.why()) {
    add("no shared memory, no ring", memory.why());
    return transport;
  }
  if (!memory.is_reached()) add("no shared memory", memory.why());
  if (!ring.is_reached()) add("no ring", ring.why());
  if (memory.is_reached() && !room.why().empty()) add("not all tensors", room.why());
  return transport;
}

}  // namespace troupe::detail
