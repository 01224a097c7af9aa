#include "actors/shards/step_ledger.h"

#include <algorithm>
#include <utility>

namespace troupe::detail {
namespace {

using msg::StepState;

bool is_final(StepState state) { return state == StepState::applied || state == StepState::aborted; }

}  // namespace

StepState StepLedger::state(const StepId& step) const {
  if (const auto at = steps_.find(step); at != steps_.end()) return at->second.state;
  return step.serial < floor_ ? StepState::aborted : StepState::unknown;
}

std::uint64_t StepLedger::version(const StepId& step) const {
  const auto at = steps_.find(step);
  return at == steps_.end() ? 0 : at->second.version;
}

void StepLedger::prepared(const StepId& step, std::vector<NodeLife> owners) {
  Record record;
  record.owners = std::move(owners);
  steps_.emplace(step, std::move(record));
}

void StepLedger::applied(const StepId& step, std::uint64_t version) noexcept {
  Record& record = steps_.find(step)->second;
  record.state = StepState::applied;
  record.version = version;
}

void StepLedger::aborted(const StepId& step) {
  if (const auto at = steps_.find(step); at != steps_.end()) {
    if (at->second.state == StepState::prepared) at->second.state = StepState::aborted;
  } else if (step.serial >= floor_ && !driver_gone_ && !full()) {
    prepared(step, {});
    steps_.at(step).state = StepState::aborted;
  }
}

void StepLedger::settled(std::uint64_t floor) {
  floor_ = std::max(floor_, floor);
  for (auto at = steps_.begin(); at != steps_.end();) {
    const auto current = at++;
    auto& [step, record] = *current;
    if (step.serial >= floor_) continue;
    // A step that the driver commits does not count as settled before this owner has applied it.
    if (record.state == StepState::prepared) {
      todo_.abort.push_back(step);
      record.state = StepState::aborted;
    }
    tell_askers(step, record);
    steps_.erase(current);
  }
}

void StepLedger::driver_gone() {
  if (driver_gone_) return;
  for (auto& [step, record] : steps_) begin_alone(record);
  driver_gone_ = true;
}

void StepLedger::begin_alone(Record& record) {
  record.known.clear();
  for (const NodeLife& owner : record.owners) record.known.push_back(owner == self_ ? Known::ended : Known::nothing);
}

bool StepLedger::takes_part(const Record& record, const NodeLife& owner) const {
  return owner != self_ && std::ranges::find(record.owners, owner) != record.owners.end();
}

void StepLedger::asked(const NodeLife& by, const StepId& step, StepState own) {
  auto at = steps_.find(step);
  if (at == steps_.end() && own == StepState::prepared && state(step) == StepState::unknown) {
    // The prepare has not arrived: this owner will refuse the step, so the driver cannot have committed it.
    aborted(step);
    todo_.answers.push_back({by, step, driver_gone_ ? StepState::aborted : state(step)});
    return;
  }
  if (at != steps_.end() && own != StepState::unknown && takes_part(at->second, by)) {
    at->second.askers[by] = own;
  } else {
    todo_.answers.push_back({by, step, state(step)});
  }
}

void StepLedger::answered(const NodeLife& owner, const StepId& step, std::optional<StepState> state) {
  const auto at = steps_.find(step);
  if (at == steps_.end() || !driver_gone_) return;
  Record& record = at->second;
  const auto place = std::ranges::find(record.owners, owner);
  if (place == record.owners.end()) return;
  Known& known = record.known[static_cast<std::size_t>(place - record.owners.begin())];
  if (known != Known::asked && known != Known::told) return;
  if (known == Known::asked && state == StepState::prepared && self_ < owner) {
    known = Known::waits;
    return;
  }
  known = Known::ended;
  if (record.state == StepState::prepared && state && is_final(*state) && !record.decided) record.decided = *state;
}

// What is to be done is listed before a record says so: without memory the next call lists it.
StepLedger::Todo StepLedger::todo() {
  todo_.apply.clear();
  for (auto at = steps_.begin(); at != steps_.end();) {
    const auto current = at++;
    if (go_on(current->first, current->second)) steps_.erase(current);
  }
  return std::exchange(todo_, {});
}

bool StepLedger::go_on(const StepId& step, Record& record) {
  if (driver_gone_ && record.state == StepState::prepared) decide(step, record);
  if (is_final(record.state)) tell_askers(step, record);
  if (!driver_gone_) return false;
  if (record.state == StepState::aborted) return true;  // asking about a step that is unknown here aborts it, too
  if (record.state != StepState::applied) return false;
  for (std::size_t i = 0; i < record.owners.size(); ++i) {
    if (record.known[i] == Known::nothing || record.known[i] == Known::waits) ask(step, record, i);
  }
  return std::ranges::all_of(record.known, [](Known known) { return known == Known::ended; });
}

/// Returns the first living owner before this one; nullopt if this one decides.
std::optional<std::size_t> StepLedger::leader(const Record& record) const {
  for (std::size_t i = 0; i < record.owners.size() && record.owners[i] < self_; ++i) {
    if (record.known[i] != Known::ended) return i;
  }
  return std::nullopt;
}

void StepLedger::decide(const StepId& step, Record& record) {
  if (!record.decided) {
    const auto first = leader(record);
    if (first) {
      if (record.known[*first] == Known::nothing) ask(step, record, *first);
      // That owner decides; while it lives, this owner accepts no other's decision.
      if (const auto asker = record.askers.find(record.owners[*first]); asker != record.askers.end()) {
        if (!is_final(asker->second)) {
          todo_.answers.push_back({asker->first, step, StepState::prepared});
          record.askers.erase(asker);
        }
      }
      return;
    }
    for (std::size_t i = 0; i < record.owners.size(); ++i) {
      if (record.known[i] == Known::nothing) ask(step, record, i);
    }
    if (std::ranges::find(record.known, Known::asked) != record.known.end()) return;
    record.decided = StepState::aborted;
  }
  if (*record.decided == StepState::applied) {
    todo_.apply.push_back(step);
    return;
  }
  todo_.abort.push_back(step);
  record.state = StepState::aborted;
}

void StepLedger::ask(const StepId& step, Record& record, std::size_t owner) {
  todo_.questions.push_back({record.owners[owner], step, record.state});
  record.known[owner] = is_final(record.state) ? Known::told : Known::asked;
}

void StepLedger::tell_askers(const StepId& step, Record& record) {
  for (auto& askers = record.askers; !askers.empty(); askers.erase(askers.begin()))
    todo_.answers.push_back({askers.begin()->first, step, record.state});
}

}  // namespace troupe::detail
