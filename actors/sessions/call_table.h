// The unanswered requests of a node. Rules CT-1 to CT-4 of PROTOCOLS.md. Plain state: no CAF, time is passed in; one
// thread at a time.
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
#include "actors/source_location.h"
#include "messages/ids.h"

namespace troupe {

/// One pending request, without the receiver of its answer.
struct PendingCall {
  RequestId request;
  NodeLife peer;                      ///< only this life of the node may answer
  std::optional<TimePoint> deadline;  ///< nullopt: Deadline::while_peer_lives()
  TimePoint started;
  std::string operation;               ///< "rpc project", for errors and reports
  std::optional<SourceLocation> site;  ///< the program's line, if known
};

namespace detail {

/// Deadlines of pending requests, the earliest first. An answered request stays until it surfaces or half of the heap
/// is answered: `add` is O(log n) amortised, an answer costs nothing.
class DeadlineHeap {
 public:
  void add(TimePoint deadline, RequestId request);
  /// Returns the earliest entry; nullopt if there is none.
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

/// Pending requests, each with an `Entry` of the caller's (movable, e.g. the answer's receiver). A request leaves the
/// table exactly once: taken by its answer, expired, or failed with its peer or with all others. The caller that
/// removes it answers it.
template <class Entry>
class CallTable {
 public:
  /// A pending call and its entry.
  struct Call : PendingCall {
    Entry entry;
  };

  /// Adds a request under a new id, which it returns; ids are never reused. O(log n).
  [[nodiscard]] RequestId add(NodeLife peer, std::optional<TimePoint> deadline, std::string operation,
                              TimePoint started, Entry entry, std::optional<SourceLocation> site = {}) {
    const RequestId request{++last_};
    add(request, std::move(peer), deadline, std::move(operation), started, std::move(entry), site);
    return request;
  }

  /// As above, under an id that the caller has not used before.
  void add(RequestId request, NodeLife peer, std::optional<TimePoint> deadline, std::string operation,
           TimePoint started, Entry entry, std::optional<SourceLocation> site = {}) {
    if (deadline) {
      if (deadlines_.size() > 2 * calls_.size() + kSlack) {
        deadlines_.compact([&](RequestId id) { return calls_.contains(id); });
      }
      deadlines_.add(*deadline, request);
    }
    const std::size_t before = calls_.size();
    calls_.emplace_hint(
        calls_.end(), request,
        Call{{request, std::move(peer), deadline, started, std::move(operation), site}, std::move(entry)});
    TROUPE_ASSERT(calls_.size() == before + 1,
                  "[router] request " + std::to_string(request.value) + " was made before");
  }

  /// Removes and returns the call that `from` answers; nullopt if the answer is late, a duplicate, or from another
  /// peer.
  [[nodiscard]] std::optional<Call> take(RequestId request, const NodeLife& from) {
    const auto at = calls_.find(request);
    if (at == calls_.end() || at->second.peer != from) return std::nullopt;
    return remove(at);
  }

  /// Returns a pending call, or null. Valid until the table changes.
  [[nodiscard]] Call* find(RequestId request) {
    const auto at = calls_.find(request);
    return at == calls_.end() ? nullptr : &at->second;
  }

  /// Removes and returns the call, because its caller cancels it.
  [[nodiscard]] std::optional<Call> cancel(RequestId request) {
    const auto at = calls_.find(request);
    if (at == calls_.end()) return std::nullopt;
    return remove(at);
  }

  /// Removes and returns the calls whose deadline is at or before `now`, the earliest first.
  [[nodiscard]] std::vector<Call> expire(TimePoint now) {
    std::vector<Call> out;
    for (auto due = next_deadline(); due && *due <= now; due = next_deadline()) {
      out.push_back(remove(calls_.find(deadlines_.front()->second)));
      deadlines_.pop_front();
    }
    return out;
  }

  /// Returns when `expire` is next needed; nullopt if no pending call has a deadline.
  [[nodiscard]] std::optional<TimePoint> next_deadline() {
    auto front = deadlines_.front();
    while (front && !calls_.contains(front->second)) {
      deadlines_.pop_front();
      front = deadlines_.front();
    }
    return front ? std::optional(front->first) : std::nullopt;
  }

  /// Removes and returns the calls to that life of a node, in the order they were made. O(n): peers die rarely.
  [[nodiscard]] std::vector<Call> fail_peer(const NodeLife& peer) {
    return fail_peer(peer, [](const Entry&) { return true; });
  }

  /// As above, only those for which `wanted(entry)` is true.
  template <class Wanted>
  [[nodiscard]] std::vector<Call> fail_peer(const NodeLife& peer, Wanted wanted) {
    std::vector<Call> out;
    for (auto at = calls_.begin(); at != calls_.end();) {
      const auto current = at++;
      if (current->second.peer == peer && wanted(std::as_const(current->second.entry))) out.push_back(remove(current));
    }
    return out;
  }

  /// Removes and returns all calls, in the order they were made.
  [[nodiscard]] std::vector<Call> fail_all() {
    std::vector<Call> out;
    while (!calls_.empty()) out.push_back(remove(calls_.begin()));
    return out;
  }

  /// Removes and returns the oldest call; nullopt if there is none. Allocates nothing.
  [[nodiscard]] std::optional<Call> take_oldest() {
    if (calls_.empty()) return std::nullopt;
    return remove(calls_.begin());
  }

  /// Returns the oldest `count_max` pending calls, the oldest first, for reports.
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
