#include "actors/collectives/collective_inbox.h"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::detail {

std::optional<Error> CollectiveInbox::begin(std::string what) {
  ++operation_;
  under_way_ = true;
  what_ = std::move(what);
  sent_.clear();
  asked_for_.clear();
  wanted_.clear();
  here_.clear();
  if (names_.size() > 1) unconfirmed_[operation_] = what_;
  std::optional<Error> error;
  if (const auto told = told_early_.extract(operation_)) {
    told_early_bytes_ -= told.mapped().what.size();
    error = compare(after(), told.mapped());
  }
  for (auto early = early_.begin(); early != early_.end() && !error;) {
    const auto current = early++;
    if (current->place.operation != operation_) continue;
    if (current->place.what != what_) {
      error = mismatch(current->from, current->place);  // the part stays: its sender is answered when it is dropped
    } else {
      put(current->from, current->place, current->part);
      early_.erase(current);
    }
  }
  return error;
}

std::optional<Error> CollectiveInbox::end() {
  under_way_ = false;
  if (here_.empty()) return std::nullopt;
  const Wanted& unwanted = here_.begin()->first;
  return mismatch(unwanted.from, {operation_, what_, unwanted.slot, unwanted.index});
}

PartPlace CollectiveInbox::next_place(std::size_t to, std::uint64_t slot) {
  return {operation_, what_, slot, sent_[{to, slot}]++};
}

CollectiveInbox::Wanted CollectiveInbox::want(std::size_t from, std::uint64_t slot) {
  const Wanted wanted{from, slot, asked_for_[{from, slot}]++};
  wanted_.insert(wanted);
  const auto part = here_.find(wanted);
  if (part != here_.end()) mark_taken(part->second);
  return wanted;
}

std::optional<Error> CollectiveInbox::told(std::size_t from, PartPlace place) {
  if (from != after()) {
    return refused(
        ErrorCode::protocol_violation, from,
        fmt::format("{} is not the member after {}, to which alone that one listens", names_[from], names_[self_]));
  }
  if (place.operation <= operation_) return compare(from, place);
  if (place.operation - operation_ > kAheadMax || place.what.size() > kAheadBytesMax - told_early_bytes_) {
    return refused(
        ErrorCode::resource_exhausted, from,
        fmt::format("{} is in operation {}, too far ahead of {} in {}: at most {} operations, described in {} "
                    "bytes; use a barrier",
                    names_[from], place.operation, names_[self_], operation_, kAheadMax, kAheadBytesMax));
  }
  const std::uint64_t operation = place.operation;
  const std::size_t bytes = place.what.size();
  if (told_early_.emplace(operation, std::move(place)).second) told_early_bytes_ += bytes;  // it says it once
  return std::nullopt;
}

std::optional<Error> CollectiveInbox::compare(std::size_t with, const PartPlace& place) {
  const auto own = unconfirmed_.find(place.operation);
  if (own == unconfirmed_.end()) return std::nullopt;
  if (own->second != place.what) return mismatch(with, place);
  unconfirmed_.erase(own);
  return std::nullopt;
}

std::optional<Error> CollectiveInbox::came(std::size_t from, PartPlace place, Frame bytes, Answer answer) {
  if (untaken(from) >= kUntakenMax) {
    return refused(ErrorCode::resource_exhausted, from,
                   fmt::format("{} parts of {} wait for {}, which has not asked for them: no operation has so many",
                               kUntakenMax, names_[from], names_[self_]));
  }
  if (has(from, place)) {
    return refused(ErrorCode::protocol_violation, from,
                   fmt::format("{} has sent part {} of slot {} of operation {} to {} twice: each place has one part",
                               names_[from], place.index, place.slot, place.operation, names_[self_]));
  }
  Part part{std::move(bytes), std::move(answer)};
  if (place.operation > operation_) {
    early_.push_back({from, std::move(place), std::move(part)});
    return std::nullopt;
  }
  if (place.operation < operation_ || !under_way_ || place.what != what_) return mismatch(from, place);
  put(from, place, part);
  return std::nullopt;
}

bool CollectiveInbox::has(std::size_t from, const PartPlace& place) const {
  if (place.operation == operation_) return here_.contains({from, place.slot, place.index});
  return std::ranges::any_of(early_, [&](const Early& early) {
    return early.from == from && early.place.operation == place.operation && early.place.slot == place.slot &&
           early.place.index == place.index;
  });
}

std::size_t CollectiveInbox::untaken(std::size_t from) const {
  auto count = std::ranges::count_if(early_, [from](const Early& early) { return early.from == from; });
  for (auto part = here_.lower_bound({from, 0, 0}); part != here_.end() && part->first.from == from; ++part) {
    if (part->second.answer) ++count;
  }
  return static_cast<std::size_t>(count);
}

void CollectiveInbox::put(std::size_t from, const PartPlace& place, Part& part) {
  if (from == after()) unconfirmed_.erase(place.operation);
  const Wanted at{from, place.slot, place.index};
  if (wanted_.contains(at)) mark_taken(part);
  here_.try_emplace(at, std::move(part));  // `came` has refused another part of that place
}

void CollectiveInbox::mark_taken(Part& part) {
  taken_.push_back(std::move(part.answer));
  part.answer = nullptr;
}

std::optional<Frame> CollectiveInbox::take(const Wanted& wanted) {
  const auto part = here_.find(wanted);
  if (part == here_.end()) return std::nullopt;
  Frame bytes = std::move(part->second.bytes);
  here_.erase(part);
  wanted_.erase(wanted);
  return bytes;
}

std::vector<CollectiveInbox::Answer> CollectiveInbox::drop() {
  std::vector<Answer> dropped;
  dropped.reserve(here_.size() + early_.size());
  const auto add = [&dropped](Part& part) {
    if (part.answer) dropped.push_back(std::move(part.answer));
  };
  for (auto& [at, part] : here_) add(part);
  for (Early& early : early_) add(early.part);
  here_.clear();
  early_.clear();
  told_early_.clear();
  told_early_bytes_ = 0;
  return dropped;
}

const Error* CollectiveInbox::absence(std::size_t who) const {
  const auto found = left_.find(who);
  return found == left_.end() ? nullptr : &found->second;
}

const Error* CollectiveInbox::lost() const {
  if (left_.empty()) return nullptr;
  for (const std::size_t who : awaited()) {
    if (const Error* why = absence(who)) return why;
  }
  return nullptr;
}

std::set<std::size_t> CollectiveInbox::awaited() const {
  std::set<std::size_t> members;
  for (const Wanted& wanted : wanted_) {
    if (!here_.contains(wanted)) members.insert(wanted.from);
  }
  return members;
}

Error CollectiveInbox::mismatch(std::size_t with, const PartPlace& place) const {
  const auto own = unconfirmed_.find(place.operation);
  return refused(ErrorCode::bad_argument, with,
                 fmt::format("operation {} is {} for {}, ", place.operation, place.what, names_[with]) +
                     (own != unconfirmed_.end() ? fmt::format("{} for {}", own->second, names_[self_])
                                                : fmt::format("and {} has carried it out", names_[self_])));
}

Error CollectiveInbox::refused(ErrorCode code, std::size_t from, std::string message) const {
  Error error;
  error.code = code;
  error.peer = names_[from];
  error.execution = Execution::never;
  error.message = std::move(message);
  return error;
}

}  // namespace troupe::detail
