#include "actors/references/handle_table.h"

#include <algorithm>
#include <utility>

#include "actors/core/assert.h"

namespace troupe {
namespace {

Error owner_died(const RRefId& rref, const NodeLife& owner, const Error& why) {
  Error error;
  error.code = ErrorCode::owner_died;
  error.message = "the owner of RRef " + rref.text() + " is gone";
  error.peer = owner.name;
  error.incarnation = owner.incarnation;
  error.endpoint = why.endpoint;
  error.execution = Execution::maybe;
  error.cause = why.text();
  return error;
}

Error not_here(const RRefId& rref, std::string message) {
  Error error;
  error.code = ErrorCode::ref_revoked;
  error.message = std::move(message) + ": RRef " + rref.text();
  error.execution = Execution::never;
  return error;
}

Error owner_not_met(const RRefId& rref, const NodeLife& owner) {
  Error error;
  error.code = ErrorCode::not_joined;
  error.message = "RRef " + rref.text() + " cannot be handed on: this node has no connection with its owner yet";
  error.peer = owner.name;
  error.incarnation = owner.incarnation;
  error.execution = Execution::never;
  return error;
}

}  // namespace

ForkId HandleTable::next_fork() { return {self_.name, self_.incarnation.low, ++serial_}; }

ForkId HandleTable::create(const RRefId& rref, const NodeLife& owner) {
  const ForkId fork = next_fork();
  Entry entry;
  entry.owner = owner;
  entry.holds = 1;
  entry.pending.emplace(fork, self_);
  std::size_t& concerns = concerned_[owner];
  const bool added = entries_.try_emplace(rref, std::move(entry)).second;  // last: without memory there is no entry
  TROUPE_ASSERT(added, "[rref] created twice: " + rref.text());
  ++concerns;
  return fork;
}

RRefNotices HandleTable::creation_failed(const RRefId& rref, const Error& error) {
  RRefNotices notices;
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return notices;
  if (const auto own = end_creation(at->second, error)) at->second.doubtful = own;
  settle(at, notices);
  return notices;
}

RRefNotices HandleTable::creation_undone(const RRefId& rref, const Error& error) {
  RRefNotices notices;
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return notices;
  if (const auto own = end_creation(at->second, error)) {
    notices.push_back({RRefNotice::Kind::undone, at->second.owner, rref, *own, {}, error});
  }
  settle(at, notices);
  return notices;
}

RRefNotices HandleTable::received(const ReceivedFork& handle, const NodeLife& parent, OwnerMet met) {
  const auto [at, added] = entries_.try_emplace(handle.rref);
  Entry& entry = at->second;
  if (added) {
    entry.owner = handle.owner;
    entry.met = met;
    ++concerned_[handle.owner];
    if (met == OwnerMet::not_yet) ++unmet_;
  }
  ++entry.holds;

  if (parent == self_) {
    const bool handed_on = drop_child(entry, handle.fork);
    if (!handed_on && added) entry.failure = not_here(handle.rref, "the message that carried this handle was undone");
    return {};
  }
  const bool from_owner = parent == handle.owner;
  if (entry.confirmed || entry.failure) {
    const auto kind = from_owner ? RRefNotice::Kind::deleted : RRefNotice::Kind::acknowledged;
    return {{kind, parent, handle.rref, handle.fork, {}}};
  }
  RRefNotices notices;
  if (met == OwnerMet::yes) meet(at, notices);
  if (from_owner) {
    entry.confirmed = handle.fork;
    return notices;
  }
  entry.pending.emplace(handle.fork, parent);
  if (entry.met == OwnerMet::yes)
    notices.push_back({RRefNotice::Kind::forked, handle.owner, handle.rref, handle.fork, parent.name});
  return notices;
}

Result<ForkId> HandleTable::hand_out(const RRefId& rref, const NodeLife& to) {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return not_here(rref, "this node holds no handle");
  if (at->second.failure) return *at->second.failure;
  if (at->second.met == OwnerMet::not_yet) return owner_not_met(rref, at->second.owner);
  const ForkId fork = next_fork();
  add_child(at->second, fork, to);
  return fork;
}

RRefNotices HandleTable::acknowledged(const RRefId& rref, const ForkId& fork) {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return {};
  RRefNotices notices;
  Entry& entry = at->second;
  if (drop_child(entry, fork)) {
    settle(at, notices);
  } else if (entry.pending.erase(fork) > 0) {
    if (entry.confirmed) {
      notices.push_back({RRefNotice::Kind::deleted, entry.owner, rref, fork, {}});
    } else {
      entry.confirmed = fork;
    }
    settle(at, notices);
  }
  return notices;
}

bool HandleTable::is_owner(const RRefId& rref, const NodeLife& life) const {
  const auto at = entries_.find(rref);
  return at != entries_.end() && at->second.owner == life;
}

const NodeLife* HandleTable::owner(const RRefId& rref) const {
  const auto at = entries_.find(rref);
  return at == entries_.end() ? nullptr : &at->second.owner;
}

bool HandleTable::may_acknowledge(const RRefId& rref, const ForkId& fork, const NodeLife& life) const {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return false;
  const auto child = at->second.children.find(fork);
  return at->second.owner == life || (child != at->second.children.end() && child->second == life);
}

RRefNotices HandleTable::undo(const RRefId& rref, const ForkId& fork) {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return {};
  RRefNotices notices;
  drop_child(at->second, fork);
  settle(at, notices);
  return notices;
}

RRefNotices HandleTable::revoked(const RRefId& rref, const ForkId& fork, const Error& error) {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return {};
  Entry& entry = at->second;
  const bool was_ours = entry.pending.erase(fork) > 0 || entry.confirmed == fork;
  if (!was_ours) return {};
  if (entry.confirmed == fork) entry.confirmed.reset();
  // The owner may count a doubtful fork: the children rely on it, and it is deleted with the last handle.
  if (!entry.confirmed && entry.pending.empty() && !entry.doubtful) fail(entry, error);
  RRefNotices notices;
  settle(at, notices);
  return notices;
}

RRefNotices HandleTable::dropped(const RRefId& rref) {
  const auto at = entries_.find(rref);
  TROUPE_ASSERT(at != entries_.end() && at->second.holds > 0,
                "[rref] dropped more often than received: " + rref.text());
  RRefNotices notices;
  --at->second.holds;
  settle(at, notices);
  return notices;
}

RRefNotices HandleTable::node_up(const NodeLife& life) {
  RRefNotices notices;
  if (unmet_ == 0 || !concerns(life)) return notices;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.owner == life) meet(at, notices);
  }
  return notices;
}

RRefNotices HandleTable::node_down(const NodeLife& life, const Error& why) {
  RRefNotices notices;
  if (!concerns(life)) return notices;
  for (auto next = entries_.begin(); next != entries_.end();) end_life(next++, life, why, notices);
  if (const auto left = concerned_.find(life); left != concerned_.end() && left->second == 0) {
    concerned_.erase(left);  // an entry that got no memory has left it
  }
  return notices;
}

RRefNotices HandleTable::handle_down(const RRefId& rref, const NodeLife& life, const Error& why) {
  RRefNotices notices;
  const auto at = entries_.find(rref);
  if (at != entries_.end()) end_life(at, life, why, notices);
  return notices;
}

void HandleTable::end_life(Entries::iterator at, const NodeLife& life, const Error& why, RRefNotices& notices) {
  Entry& entry = at->second;
  if (entry.owner == life) {
    give_back_pending(at, notices);
    if (!entry.failure) entry.failure = owner_died(at->first, life, why);
    fail(entry, *entry.failure);
  } else {
    const auto gone = std::erase_if(entry.children, [&](const auto& child) { return child.second == life; });
    no_longer_concerns(life, gone);
  }
  settle(at, notices);
}

HandleState HandleTable::state(const RRefId& rref) const {
  const auto at = entries_.find(rref);
  TROUPE_ASSERT(at != entries_.end(), "[rref] no handle of this value is here: " + rref.text());
  const Entry& entry = at->second;
  if (entry.failure) return HandleState::failed;
  return entry.confirmed ? HandleState::confirmed : HandleState::pending;
}

std::optional<Error> HandleTable::failure(const RRefId& rref) const {
  const auto at = entries_.find(rref);
  return at == entries_.end() ? std::nullopt : at->second.failure;
}

bool HandleTable::is_held(const RRefId& rref) const {
  const auto at = entries_.find(rref);
  return at != entries_.end() && at->second.holds > 0;
}

std::size_t HandleTable::unconfirmed_count() const {
  const auto unconfirmed = [](const auto& entry) { return !entry.second.confirmed && !entry.second.pending.empty(); };
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), unconfirmed));
}

std::size_t HandleTable::unacknowledged_count() const {
  std::size_t count = 0;
  for (const auto& [rref, entry] : entries_) count += entry.children.size();
  return count;
}

std::vector<ForkId> HandleTable::forks_of(const RRefId& rref) const {
  const auto at = entries_.find(rref);
  if (at == entries_.end()) return {};
  std::vector<ForkId> out;
  if (at->second.confirmed) out.push_back(*at->second.confirmed);
  for (const auto& [fork, parent] : at->second.pending) out.push_back(fork);
  if (at->second.doubtful) out.push_back(*at->second.doubtful);
  return out;
}

std::string HandleTable::text() const {
  std::string out;
  for (const auto& [rref, entry] : entries_) {
    if (!out.empty()) out += "; ";
    out += rref.text() + " of " + entry.owner.name + ": " + std::to_string(entry.holds) + " held";
    if (entry.met == OwnerMet::not_yet) out += ", owner not met";
    if (entry.confirmed) out += ", confirmed " + entry.confirmed->text();
    for (const auto& [fork, parent] : entry.pending) out += ", pending " + fork.text() + " from " + parent.name;
    if (entry.doubtful) out += ", doubtful " + entry.doubtful->text();
    for (const auto& [fork, to] : entry.children) out += ", handed " + fork.text() + " to " + to.name;
    if (entry.failure) out += ", failed: " + std::string(name_of(entry.failure->code));
  }
  return out;
}

void HandleTable::add_child(Entry& entry, const ForkId& fork, const NodeLife& to) {
  std::size_t& concerns = concerned_[to];
  entry.children.emplace(fork, to);  // last: without memory there is no child
  ++concerns;
}

/// Returns whether it was one.
bool HandleTable::drop_child(Entry& entry, const ForkId& fork) {
  const auto child = entry.children.find(fork);
  if (child == entry.children.end()) return false;
  no_longer_concerns(child->second);
  entry.children.erase(child);
  return true;
}

void HandleTable::no_longer_concerns(const NodeLife& life, std::size_t times) {
  const auto concerned = concerned_.find(life);
  if (concerned == concerned_.end()) return;
  concerned->second -= std::min(times, concerned->second);
  if (concerned->second == 0) concerned_.erase(concerned);
}

// The only place where a node gives up its forks of a value: no local handle is left, the owner knows every child, and
// the owner has answered every report, so that no parent waits for ever (RR-6). An owner that was never met has nothing
// to answer; then only the parents wait (RR-13).
void HandleTable::settle(Entries::iterator at, RRefNotices& notices) {
  Entry& entry = at->second;
  if (entry.holds == 0 && entry.met == OwnerMet::not_yet) {
    give_back_pending(at, notices);
    entry.pending.clear();
  }
  if (entry.holds > 0 || !entry.children.empty() || !entry.pending.empty()) return;
  for (const ForkId& fork : forks_of(at->first)) {
    notices.push_back({RRefNotice::Kind::deleted, entry.owner, at->first, fork, {}});
  }
  no_longer_concerns(entry.owner);
  if (entry.met == OwnerMet::not_yet) --unmet_;
  entries_.erase(at);
}

// Reports the forks that arrived before the owner was met.
void HandleTable::meet(Entries::iterator at, RRefNotices& notices) {
  Entry& entry = at->second;
  if (std::exchange(entry.met, OwnerMet::yes) == OwnerMet::yes) return;
  --unmet_;
  for (const auto& [fork, parent] : entry.pending) {
    notices.push_back({RRefNotice::Kind::forked, entry.owner, at->first, fork, parent.name});
  }
}

// Tells the parents of unconfirmed forks that they need not wait for the owner.
void HandleTable::give_back_pending(Entries::iterator at, RRefNotices& notices) const {
  for (const auto& [fork, parent] : at->second.pending) {
    if (parent != self_) notices.push_back({RRefNotice::Kind::acknowledged, parent, at->first, fork, {}});
  }
}

// Returns the fork that the creating call carried, unless the handle has failed for another reason.
std::optional<ForkId> HandleTable::end_creation(Entry& entry, const Error& error) {
  if (entry.failure) return std::nullopt;
  entry.failure = error;
  const auto own =
      std::find_if(entry.pending.begin(), entry.pending.end(), [&](const auto& fork) { return fork.second == self_; });
  if (own == entry.pending.end()) return std::nullopt;
  return entry.pending.extract(own).key();
}

// The handle has failed, and the owner counts no fork of it: no child can rely on it.
void HandleTable::fail(Entry& entry, const Error& error) {
  if (!entry.failure) entry.failure = error;
  entry.confirmed.reset();
  entry.pending.clear();
  entry.doubtful.reset();
  for (const auto& [fork, to] : entry.children) no_longer_concerns(to);
  entry.children.clear();
}

}  // namespace troupe
