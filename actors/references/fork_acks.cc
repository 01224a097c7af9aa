#include "actors/references/fork_acks.h"

#include <algorithm>
#include <utility>

namespace troupe::detail {

ForkAcks::ForkAcks(std::size_t expected, Send send) : send_(std::move(send)) {
  known_.reserve(std::min(expected, msg::kForkAcksMax));
}

ForkAcks::~ForkAcks() {
  if (!known_.empty()) send_(std::move(known_));
}

void ForkAcks::add(const RRefId& rref, const ForkId& fork) {
  std::vector<msg::RRefFork> full;
  {
    const std::lock_guard lock(mutex_);
    known_.push_back({rref, fork});
    if (known_.size() < msg::kForkAcksMax) return;
    full.swap(known_);
  }
  send_(std::move(full));
}

}  // namespace troupe::detail
