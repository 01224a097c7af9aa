#include "actors/shards/trainer_clocks.h"

#include <algorithm>

namespace troupe::detail {

void TrainerClocks::join(const OptimizerId& trainer) {
  if (!clocks_.contains(trainer)) clocks_.emplace(trainer, slowest());
}

void TrainerClocks::took(const OptimizerId& trainer, std::uint64_t steps) {
  if (steps == 0) return;
  join(trainer);
  clocks_.at(trainer) += steps;
}

std::vector<TrainerClocks::Ticket> TrainerClocks::wait(const OptimizerId& trainer, std::uint64_t staleness,
                                                       Ticket ticket) {
  join(trainer);
  std::vector<Ticket> given_up;
  const auto is_its = [&](const Wait& wait) { return wait.trainer == trainer; };
  if (static_cast<std::size_t>(std::ranges::count_if(waits_, is_its)) >= kWaitsMax) {
    const auto oldest = std::ranges::find_if(waits_, is_its);
    given_up.push_back(oldest->ticket);
    waits_.erase(oldest);
  }
  waits_.push_back({trainer, staleness, ticket});
  return given_up;
}

std::vector<TrainerClocks::Ticket> TrainerClocks::leave(const OptimizerId& trainer) {
  clocks_.erase(trainer);
  std::vector<Ticket> ended;
  std::erase_if(waits_, [&](const Wait& wait) {
    if (wait.trainer != trainer) return false;
    ended.push_back(wait.ticket);
    return true;
  });
  return ended;
}

std::vector<TrainerClocks::Ready> TrainerClocks::take_ready() {
  if (waits_.empty()) return {};  // as a rule: no look at all clocks after every event
  const std::uint64_t least = slowest();
  std::vector<Ready> ready;
  std::erase_if(waits_, [&](const Wait& wait) {
    const std::uint64_t clock = clocks_.at(wait.trainer);
    if (clock - least > wait.staleness) return false;
    ready.push_back({wait.ticket, clock, least});
    return true;
  });
  return ready;
}

std::uint64_t TrainerClocks::slowest() const {
  if (clocks_.empty()) return 0;
  return std::ranges::min_element(clocks_, {}, &std::pair<const OptimizerId, std::uint64_t>::second)->second;
}

}  // namespace troupe::detail
