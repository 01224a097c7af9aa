#include "actors/shutdown_agreement.h"

#include <algorithm>

namespace troupe::detail {

void ShutdownAgreement::gone(const NodeName& member) {
  ready_.erase(member);
  counts_.erase(member);
}

void ShutdownAgreement::counted(const NodeName& member, std::uint64_t round, Count count) {
  if (round == round_) counts_[member] = count;
}

ShutdownAgreement::Verdict ShutdownAgreement::next(const std::vector<NodeName>& living) {
  if (agreed_) return Verdict::agreed;
  if (!missing(living).empty()) return Verdict::wait;
  const auto begin_round = [this] {
    ++round_;
    counts_.clear();
  };
  if (round_ == 0) {
    begin_round();
    return Verdict::count;
  }
  const auto has_counted = [this](const NodeName& member) { return counts_.contains(member); };
  if (!std::all_of(living.begin(), living.end(), has_counted)) return Verdict::wait;
  std::uint64_t active = 0;
  std::uint64_t started = 0;
  for (const NodeName& member : living) {
    active += counts_.at(member).active;
    started += counts_.at(member).started;
  }
  if (active == 0 && started_when_idle_ == started) {
    agreed_ = true;
    return Verdict::agreed;
  }
  started_when_idle_.reset();
  if (active == 0) started_when_idle_ = started;
  begin_round();
  return active == 0 ? Verdict::count : Verdict::count_later;
}

std::vector<NodeName> ShutdownAgreement::missing(const std::vector<NodeName>& living) const {
  std::vector<NodeName> names;
  std::copy_if(living.begin(), living.end(), std::back_inserter(names),
               [this](const NodeName& member) { return !ready_.contains(member); });
  return names;
}

}  // namespace troupe::detail
