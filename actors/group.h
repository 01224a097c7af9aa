// Several nodes at once: call all of them, one of them, wait for each other, exchange a value.
//
//   const Group ps = node.role("ps");
//   const auto loads = ps.call_all(node, &load).values;               // by name
//   ps.barrier(scope);                                                // served functions of all members meet
//   const auto parts = ps.partial().all_gather(scope, part);          // the dead are in `failures`
//
// Calls go through the Scope that is passed, with its deadline. Group operations wait, through wait_point.h; each ends by
// an answer, the scope's deadline, or the end of a member.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/collectives/gathered.h"
#include "actors/scope.h"
#include "messages/membership.h"
#include "messages/values.h"

namespace troupe {

/// What a group operation does about a member that fails.
enum class Failures : std::uint8_t {
  fail_fast,  ///< throws its error, which names it, without waiting for the rest
  partial,    ///< goes on with the others and names it in `failures`
};

/// A list of names and the ways to reach them all. A value: cheap to copy, tied to no node; members may come and go.
/// Thread rule: any thread may call any member, also on the same object.
class Group {
 public:
  /// Throws std::invalid_argument if `names` is empty or names a node twice.
  explicit Group(std::vector<NodeName> names, Failures failures = Failures::fail_fast);

  /// The members of that role that are up, by rank. Throws RemoteError{not_joined}, naming the roles there are.
  [[nodiscard]] static Group of_role(const Scope& scope, std::string_view role);

  /// All nodes that are up, by rank.
  [[nodiscard]] static Group of_all(const Scope& scope);

  [[nodiscard]] const std::vector<NodeName>& names() const { return names_; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  /// The same members; a failure of one does not end the operation.
  [[nodiscard]] Group partial() const { return Group(names_, Failures::partial); }

  /// Calls `callable` on every member at once.
  template <class F, class... Args>
  Gathered<detail::ResultOf<F>> call_all(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls it on every member at once, takes the first result and cancels the other calls. If all fail, throws
  /// the first failure with the others as its cause.
  template <class F, class... Args>
  Answer<detail::ResultOf<F>> call_any(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls it on one member, another one each time; on the next if it certainly did not run there.
  template <class F, class... Args>
  Answer<detail::ResultOf<F>> call_one(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls the function F on every member; the arguments travel along a binary tree, so nobody sends them more than
  /// twice. Both `&f` and `tree_call<&f>` must be registered everywhere. A member that dies with others below it takes their
  /// results with it. Failures are known when the whole tree has answered.
  template <auto F, class... Args>
  Gathered<detail::ResultOf<decltype(F)>> broadcast(const Scope& scope, const Args&... args) const;

  /// Likewise, and combines the results on their way back: always in the same order, that of the names. Combine is a
  /// function R(R, R); `&f` and `tree_reduction<&f, &combine>` must be registered everywhere.
  template <auto F, auto Combine, class... Args>
  Reduced<detail::ResultOf<decltype(F)>> reduce(const Scope& scope, const Args&... args) const;

  /// Waits until every member is here. The n-th barrier of one member meets the n-th of the others; groups with other
  /// members, or other `Failures`, do not disturb each other. Returns the members that were left out (partial only).
  /// Throws RemoteError: timeout, naming who did not come; peer_down; std::invalid_argument if this node is no member.
  std::map<NodeName, Error> barrier(const Scope& scope) const;

  /// Barrier at which everybody gets everybody's `value`. All must bring the same type; no references, no gradients.
  template <class T>
  Gathered<T> all_gather(const Scope& scope, const T& value) const;

  /// Barrier at which member `to` gets everybody's `value`; the others get nothing.
  template <class T>
  Gathered<T> gather(const Scope& scope, const NodeName& to, const T& value) const;

 private:
  /// Meets the others, at `receiver` if there is one. Throws what `barrier` throws.
  [[nodiscard]] msg::BarrierPassed enter_barrier(const Scope& scope, std::string operation, NodeName receiver, msg::Contribution own) const;
  template <class T>
  [[nodiscard]] Gathered<T> exchange(const Scope& scope, std::string operation, NodeName receiver, const T& value) const;

  /// The names, beginning with whose turn it is.
  [[nodiscard]] std::vector<NodeName> in_turn() const;

  std::vector<NodeName> names_;
  Failures failures_;
  std::shared_ptr<std::atomic<std::size_t>> turn_;  // of call_one; shared by copies
};

}  // namespace troupe

#include "actors/group_calls.h"
