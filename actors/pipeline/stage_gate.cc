#include "actors/pipeline/stage_gate.h"

#include <iterator>
#include <limits>
#include <utility>

namespace troupe::detail {
namespace {

/// Returns the ticket after the round's last one.
std::uint64_t end_of(const RoundPlan& plan) { return plan.round.first_ticket + plan.count; }

}  // namespace

StageGate::Round* StageGate::find_or_make(const RoundPlan& plan) {
  const auto at = rounds_.find(plan.round);
  if (at != rounds_.end()) return at->second.plan == plan ? &at->second : nullptr;
  const std::uint64_t first = plan.round.first_ticket;
  if (plan.count == 0 || first < next_ || first > std::numeric_limits<std::uint64_t>::max() - plan.count)
    return nullptr;
  const auto after = rounds_.lower_bound(plan.round);
  if (after != rounds_.end() && after->first.first_ticket < end_of(plan)) return nullptr;
  if (after != rounds_.begin() && end_of(std::prev(after)->second.plan) > first) return nullptr;
  return &rounds_.emplace(plan.round, Round{plan, {}, {}, false}).first->second;
}

bool StageGate::arrive(const RoundPlan& plan, std::uint32_t index) {
  if (index >= plan.count) return false;
  Round* const round = find_or_make(plan);
  if (round == nullptr || round->dropped || plan.round.first_ticket + index < next_) return false;
  return round->arrived.insert(index).second;
}

std::optional<MicroBatchId> StageGate::admit() noexcept {
  if (running_) return std::nullopt;
  advance();
  auto at = rounds_.upper_bound(RoundId{next_});
  if (at == rounds_.begin()) return std::nullopt;
  --at;
  Round& round = at->second;
  if (next_ >= end_of(round.plan)) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(next_ - at->first.first_ticket);
  const bool counts = round.plan.live_max > 0;
  if (!round.arrived.contains(index) || (counts && round.live.size() >= round.plan.live_max)) return std::nullopt;
  auto admitted = round.arrived.extract(index);
  if (counts) round.live.insert(std::move(admitted));
  ++next_;
  return running_ = MicroBatchId{at->first, index};
}

void StageGate::leave(const MicroBatchId& batch) noexcept {
  if (running_ != batch) return;
  running_.reset();
  forget_if_over(batch.round);
}

bool StageGate::settle(const MicroBatchId& batch) noexcept {
  const auto at = rounds_.find(batch.round);
  if (at == rounds_.end() || at->second.live.erase(batch.index) == 0) return false;
  forget_if_over(batch.round);
  return true;
}

bool StageGate::drop(const RoundPlan& plan) {
  Round* const round = find_or_make(plan);
  if (round == nullptr) return !rounds_.contains(plan.round);
  round->dropped = true;
  round->arrived.clear();
  round->live.clear();
  advance();
  return true;
}

std::size_t StageGate::live(RoundId round) const {
  const auto at = rounds_.find(round);
  return at == rounds_.end() ? 0 : at->second.live.size();
}

void StageGate::advance() noexcept {
  for (auto at = rounds_.begin(); at != rounds_.end() && at->first.first_ticket <= next_;) {
    const Round& round = at->second;
    const RoundId id = at->first;
    ++at;
    if (round.dropped && next_ < end_of(round.plan)) next_ = end_of(round.plan);
    forget_if_over(id);
  }
}

void StageGate::forget_if_over(RoundId round) noexcept {
  const auto at = rounds_.find(round);
  if (at == rounds_.end() || next_ < end_of(at->second.plan)) return;
  const bool runs = running_ && running_->round == round;
  if (!runs && at->second.live.empty()) rounds_.erase(at);
}

}  // namespace troupe::detail
