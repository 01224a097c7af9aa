// The requests that a node has sent and that are not answered yet. Rules CT-1 to CT-4 of PROTOCOLS.md. Plain state: no
// CAF, time is passed in; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/core/assert.h"
#include "actors/core/node_life.h"
#include "actors/source_location.h"
#include "messages/ids.h"

namespace troupe {

/// What is known about one pending request, whatever its answer will be given to.
struct PendingCall {
  RequestId request;
  NodeLife peer;                      ///< only this life of the node may answer
  std::optional<TimePoint> deadline;  ///< empty: Deadline::while_peer_lives()
  TimePoint started;
  std::string operation;              ///< "rpc project", for errors and reports
  std::optional<SourceLocation> site; ///< where the program made it, if that is known
};

namespace detail {

/// Deadlines of pending requests, earliest first. A request that was answered stays until it surfaces or until half of
/// the heap is such: `add` is O(log n) amortised, an answer costs nothing here.
class DeadlineHeap {
 public:
  void add(TimePoint deadline, RequestId request);
  /// The earliest entry, or nothing.
  [[nodiscard]] std::optional<std::pair<TimePoint, RequestId>> front() const;
  void pop_front();
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  /// Removes the entries for which `is_pending(request)` is false.
  template <class IsPending>
  void compact(IsPending is_pending) {
    std::erase_if(heap_, [&](const auto& entry) { return !is_pending(entry.second); });
    restore();
  }

 private:
  void restore();
  std::vector<std::pair<TimePoint, RequestId>> heap_;
};

}  // namespace detail

/// Pending requests, each with an `Entry` of the caller's (movable; what keeps the promise). A request leaves the table
/// exactly once: taken by its answer, expired, or failed with its peer or with all others; whoever gets it answers.
template <class Entry>
class CallTable {
 public:
  /// A call that waits for its answer, with what its caller keeps.
  struct Call : PendingCall {
    Entry entry;
  };

  /// Returns a new id; ids are never used again. O(log n).
  [[nodiscard]] RequestId add(NodeLife peer, std::optional<TimePoint> deadline, std::string operation,
                              TimePoint started, Entry entry, std::optional<SourceLocation> site = {}) {
    const RequestId request{++last_};
    add(request, std::move(peer), deadline, std::move(operation), started, std::move(entry), site);
    return request;
  }

  /// Likewise, under an id that the caller never gave before.
  void add(RequestId request, NodeLife peer, std::optional<TimePoint> deadline, std::string operation, TimePoint started,
           Entry entry, std::optional<SourceLocation> site = {}) {
    if (deadline) {
      if (deadlines_.size() > 2 * calls_.size() + kSlack) {
        deadlines_.compact([&](RequestId id) { return calls_.contains(id); });
      }
      deadlines_.add(*deadline, request);
    }
    const std::size_t before = calls_.size();
    calls_.emplace_hint(calls_.end(), request,
                        Call{{request, std::move(peer), deadline, started, std::move(operation), site}, std::move(entry)});
    TROUPE_ASSERT(calls_.size() == before + 1, "[router] request " + std::to_string(request.value) + " was made before");
  }

  /// The call that `from` answers; nothing if the answer is late, a second one, or not from the peer that was asked.
  [[nodiscard]] std::optional<Call> take(RequestId request, const NodeLife& from) {
    const auto at = calls_.find(request);
    if (at == calls_.end() || at->second.peer != from) return std::nullopt;
    return remove(at);
  }

  /// A pending call, or null. Valid until the table changes.
  [[nodiscard]] Call* find(RequestId request) {
    const auto at = calls_.find(request);
    return at == calls_.end() ? nullptr : &at->second;
  }

  /// The caller gave up.
  [[nodiscard]] std::optional<Call> cancel(RequestId request) {
    const auto at = calls_.find(request);
    if (at == calls_.end()) return std::nullopt;
    return remove(at);
  }

  /// The calls whose deadline is at or before `now`, earliest first.
  [[nodiscard]] std::vector<Call> expire(TimePoint now) {
    std::vector<Call> out;
    for (auto due = next_deadline(); due && *due <= now; due = next_deadline()) {
      out.push_back(remove(calls_.find(deadlines_.front()->second)));
      deadlines_.pop_front();
    }
    return out;
  }

  /// When `expire` has something to do next; empty if no pending call has a deadline.
  [[nodiscard]] std::optional<TimePoint> next_deadline() {
    auto front = deadlines_.front();
    while (front && !calls_.contains(front->second)) {
      deadlines_.pop_front();
      front = deadlines_.front();
    }
    return front ? std::optional(front->first) : std::nullopt;
  }

  /// The calls to that life of a node, in the order they were made. O(n): peers die rarely.
  [[nodiscard]] std::vector<Call> fail_peer(const NodeLife& peer) {
    return fail_peer(peer, [](const Entry&) { return true; });
  }

  /// Likewise, those for which `wanted(entry)` is true.
  template <class Wanted>
  [[nodiscard]] std::vector<Call> fail_peer(const NodeLife& peer, Wanted wanted) {
    std::vector<Call> out;
    for (auto at = calls_.begin(); at != calls_.end();) {
      const auto current = at++;
      if (current->second.peer == peer && wanted(std::as_const(current->second.entry))) out.push_back(remove(current));
    }
    return out;
  }

  /// All calls, in the order they were made.
  [[nodiscard]] std::vector<Call> fail_all() {
    std::vector<Call> out;
    while (!calls_.empty()) out.push_back(remove(calls_.begin()));
    return out;
  }

  /// The first `count_max` pending calls in the order they were made, for reports.
  [[nodiscard]] std::vector<PendingCall> oldest(std::size_t count_max) const {
    std::vector<PendingCall> out;
    for (auto at = calls_.begin(); at != calls_.end() && out.size() < count_max; ++at) out.push_back(at->second);
    return out;
  }

  [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }

 private:
  static constexpr std::size_t kSlack = 64;
  using Calls = std::map<RequestId, Call>;

  Call remove(typename Calls::iterator at) { return std::move(calls_.extract(at).mapped()); }

  std::uint64_t last_ = 0;
  Calls calls_;
  detail::DeadlineHeap deadlines_;
};

}  // namespace troupe
