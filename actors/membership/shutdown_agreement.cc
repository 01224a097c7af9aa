#include "actors/membership/shutdown_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::detail {

// Both rounds have the same members: the one before its end does not count.
void ShutdownAgreement::gone(const NodeName& member) {
  ready_.erase(member);
  asked_.erase(member);
  counts_.erase(member);
  started_when_idle_.reset();
}

void ShutdownAgreement::counted(const NodeName& member, std::uint64_t round, Count count) {
  if (round == round_) counts_[member] = count;
}

bool ShutdownAgreement::awaits_some_of(std::size_t living) const {
  if (agreed_) return false;
  const bool all_are_asked = asked_.size() == living;
  return ready_.size() < living || (all_are_asked && counts_.size() < living);
}

ShutdownAgreement::Verdict ShutdownAgreement::next(const std::vector<NodeName>& living) {
  if (agreed_) return Verdict::agreed;
  if (!missing(living).empty()) return Verdict::wait;
  const auto begin_round = [&] {
    ++round_;
    asked_ = {living.begin(), living.end()};
    counts_.clear();
  };
  const auto is_asked = [this](const NodeName& member) { return asked_.contains(member); };
  if (!std::all_of(living.begin(), living.end(), is_asked)) {  // the first round, or a member joined during this one
    started_when_idle_.reset();
    begin_round();
    return Verdict::count;
  }
  const auto has_counted = [this](const NodeName& member) { return counts_.contains(member); };
  if (!std::all_of(living.begin(), living.end(), has_counted)) return Verdict::wait;
  // No sums: numbers that a member makes up could wrap them, or stand for what others have started since.
  const bool idle = std::ranges::all_of(living, [this](const NodeName& one) { return counts_.at(one).active == 0; });
  std::map<NodeName, std::uint64_t> started;
  for (const NodeName& member : living) started[member] = counts_.at(member).started;
  if (idle && started_when_idle_ == started) {
    agreed_ = true;
    return Verdict::agreed;
  }
  started_when_idle_.reset();
  if (idle) started_when_idle_ = std::move(started);
  begin_round();
  return idle ? Verdict::count : Verdict::count_later;
}

std::vector<NodeName> ShutdownAgreement::missing(const std::vector<NodeName>& living) const {
  std::vector<NodeName> names;
  std::copy_if(living.begin(), living.end(), std::back_inserter(names),
               [this](const NodeName& member) { return !ready_.contains(member); });
  return names;
}

std::string ShutdownAgreement::text() const {
  std::string out = fmt::format("round {}{}", round_, agreed_ ? ", agreed" : "");
  if (started_when_idle_) {
    for (const auto& [member, started] : *started_when_idle_)
      out += fmt::format(", {} was idle at {}", member, started);
  }
  for (const NodeName& member : ready_) out += fmt::format(", {} is ready", member);
  for (const NodeName& member : asked_) out += fmt::format(", {} is asked", member);
  for (const auto& [member, count] : counts_)
    out += fmt::format(", {} counted {} and {}", member, count.active, count.started);
  return out;
}

}  // namespace troupe::detail
