#include "actors/membership/roster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/core/error_not_run.h"

namespace troupe::detail {

std::string role_of_name(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789");
  return std::string(last == std::string_view::npos ? name : name.substr(0, last + 1));
}

std::optional<Error> Roster::refusal(const msg::MemberJoin& join) const {
  if (size_max_ != 0) {
    if (join.world_size != size_max_) {
      return error_not_run(ErrorCode::bad_argument, fmt::format("{} expects a world of {}, this is one of {}",
                                                                join.name, join.world_size, size_max_));
    }
    if (!entries_.contains(join.name) && entries_.size() >= size_max_) {
      return error_not_run(ErrorCode::resource_exhausted, fmt::format("the world of {} is complete", size_max_));
    }
    if (join.rank && *join.rank >= size_max_) {
      return error_not_run(ErrorCode::bad_argument, fmt::format("{} wants rank {}: out of range in a world of {}",
                                                                join.name, *join.rank, size_max_));
    }
  }
  if (const Entry* other = join.rank ? holder(*join.rank, join.name) : nullptr) {
    return error_not_run(ErrorCode::bad_argument,
                         fmt::format("{} wants rank {}: {} has it", join.name, *join.rank, other->member.name));
  }
  return std::nullopt;
}

std::optional<Error> Roster::admit(const msg::MemberJoin& join) {
  const auto known = entries_.find(join.name);
  if (known != entries_.end() && known->second.member.incarnation == join.incarnation) return std::nullopt;
  if (auto error = refusal(join)) return error;
  std::optional<std::uint32_t> rank = join.rank;
  if (!rank && known != entries_.end()) rank = known->second.rank;
  if (rank && holder(*rank, join.name) != nullptr) rank.reset();  // taken while the former life was lost
  set({{join.name, join.incarnation, join.address, join.role, rank.value_or(0), ++epoch_}, rank});
  if (rank) newcomers_.insert(join.name);
  give_ranks();
  return std::nullopt;
}

/// In the place of the former entry of that name.
void Roster::set(Entry entry) {
  const auto [at, added] = entries_.try_emplace(entry.member.name);
  if (!added && at->second == entry) return;
  if (!added) unlist(at->second);
  at->second = std::move(entry);
  list(at->second);
}

void Roster::list(const Entry& entry) {
  const auto& [member, rank] = entry;
  by_epoch_.emplace(member.epoch, member.name);
  if (rank) ranks_.emplace(*rank, member.name);
  else unranked_.emplace(member.epoch, member.name);
}

void Roster::unlist(const Entry& entry) {
  const auto& [member, rank] = entry;
  by_epoch_.erase({member.epoch, member.name});
  unranked_.erase({member.epoch, member.name});
  newcomers_.erase(member.name);
  if (!rank) return;
  ranks_.erase({*rank, member.name});
  first_free_ = std::min(first_free_, *rank);
}

void Roster::give_ranks() {
  if (entries_.size() < awaited_) return;  // a later member may request a certain rank
  for (const auto& [epoch, name] : std::exchange(unranked_, {})) {
    while (holder(first_free_) != nullptr) ++first_free_;
    Entry& entry = entries_.at(name);
    entry.member.rank = first_free_;
    entry.rank = first_free_;
    ranks_.emplace(first_free_, name);
    newcomers_.insert(name);
  }
}

bool Roster::complete() const { return entries_.size() >= awaited_ && unranked_.empty(); }

std::vector<msg::Member> Roster::take_newcomers() {
  std::vector<msg::Member> members;
  for (const NodeName& name : std::exchange(newcomers_, {})) members.push_back(entries_.at(name).member);
  return members;
}

bool Roster::learn(const msg::Member& member) {
  const auto known = entries_.find(member.name);
  const bool is_another_life = known != entries_.end() && known->second.member.incarnation != member.incarnation;
  if (is_another_life && known->second.member.epoch > member.epoch) return false;
  set({member, member.rank});
  epoch_ = std::max(epoch_, member.epoch);
  return true;
}

std::optional<msg::Member> Roster::learn_from_itself(const msg::Member& member,
                                                     const std::function<bool(const NodeName&)>& is_lost) {
  const auto known = entries_.find(member.name);
  if (known != entries_.end() && known->second.member.incarnation == member.incarnation)
    return known->second.rank ? std::optional(known->second.member) : std::nullopt;
  for (auto at = ranks_.lower_bound({member.rank, {}}); at != ranks_.end() && at->first == member.rank; ++at) {
    if (at->second != member.name && !is_lost(at->second)) return std::nullopt;
  }
  if (member.epoch > epoch_ && member.epoch - epoch_ > kEpochsAheadMax) return std::nullopt;
  return learn(member) ? std::optional(member) : std::nullopt;
}

std::vector<msg::Member> Roster::forget() {
  std::vector<msg::Member> former = members();
  entries_.clear();
  by_epoch_.clear();
  unranked_.clear();
  ranks_.clear();
  first_free_ = 0;
  newcomers_.clear();
  epoch_ = 0;
  return former;
}

bool Roster::remove(const NodeName& name, Incarnation incarnation) {
  const auto known = entries_.find(name);
  if (known == entries_.end() || known->second.member.incarnation != incarnation) return false;
  unlist(known->second);
  entries_.erase(known);
  return true;
}

const Roster::Entry* Roster::holder(std::uint32_t rank, const NodeName& besides) const {
  for (auto at = ranks_.lower_bound({rank, {}}); at != ranks_.end() && at->first == rank; ++at) {
    if (at->second != besides) return &entries_.at(at->second);
  }
  return nullptr;
}

const msg::Member* Roster::find(const NodeName& name) const {
  const auto known = entries_.find(name);
  return known == entries_.end() || !known->second.rank ? nullptr : &known->second.member;
}

std::optional<NodeName> Roster::coordinator(const std::function<bool(const NodeName&)>& is_living) const {
  for (const auto& [epoch, name] : by_epoch_) {
    if (is_living(name)) return name;
  }
  return std::nullopt;
}

std::vector<msg::Member> Roster::members() const {
  std::vector<msg::Member> members;
  for (const auto& [name, entry] : entries_) {
    if (entry.rank) members.push_back(entry.member);
  }
  return members;
}

}  // namespace troupe::detail
