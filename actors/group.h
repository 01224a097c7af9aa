// Operations over several nodes: call all of them or one of them, meet at a barrier, exchange a value.
//
//   const Group ps = node.role("ps");
//   const auto loads = ps.call_all(node, &load).values;               // by name
//   ps.barrier(scope);                                                // served functions of all members meet
//   const auto parts = ps.partial().all_gather(scope, part);          // the failed members are in `failures`
//
// Calls use the given Scope and its deadline. Group operations wait, through wait_point.h, for an answer, the scope's
// deadline, or the end of a member.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/collectives/gathered.h"
#include "actors/scope.h"
#include "messages/ids.h"
#include "messages/payload.h"

namespace troupe {

/// How a group operation treats a member that fails.
enum class Failures : std::uint8_t {
  fail_fast,  ///< throws the member's error, which names it
  partial,    ///< continues with the others and lists the member in `failures`
};

/// A list of nodes, and operations on all of them. A value: cheap to copy, tied to no node; it does not follow
/// membership. Thread rule: any thread may call any member, also on the same object.
class Group {
 public:
  /// Throws std::invalid_argument if `names` is empty or names a node twice.
  explicit Group(std::vector<NodeName> names, Failures failures = Failures::fail_fast);

  /// Returns the members of that role that are up, by rank. Throws RemoteError{not_joined}, naming the existing roles.
  [[nodiscard]] static Group of_role(const Scope& scope, std::string_view role);

  /// Returns all nodes that are up, by rank.
  [[nodiscard]] static Group of_all(const Scope& scope);

  [[nodiscard]] const std::vector<NodeName>& names() const { return names_; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  /// Returns a group of the same nodes in which the failure of a member does not end an operation.
  [[nodiscard]] Group partial() const { return Group(names_, Failures::partial); }

  /// Calls `callable` on every member concurrently. fail_fast: throws what Future::get of the first call that fails
  /// throws, and cancels the other calls. partial: lists the failures in the result. Throws std::invalid_argument if
  /// this node has not registered `callable`.
  template <class F = detail::OneOfSeveral, class... Args>
  Gathered<detail::ResultOf<F>> call_all(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls `callable` on every member concurrently, returns the first result and cancels the other calls. Throws
  /// RemoteError if all fail, also for exceptions of registered types: the failure of the first member by name, with
  /// those of the others as its cause; std::invalid_argument as call_all.
  template <class F = detail::OneOfSeveral, class... Args>
  Answer<detail::ResultOf<F>> call_any(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls `callable` on one member, in rotation; tries the next one if the call certainly did not run. A call that
  /// fails otherwise ends the operation, which throws as its Future::get. If no member ran it, throws RemoteError as
  /// call_any; std::invalid_argument as call_all.
  template <class F = detail::OneOfSeveral, class... Args>
  Answer<detail::ResultOf<F>> call_one(const Scope& scope, const F& callable, const Args&... args) const;

  /// Calls the function F on every member. The arguments travel along a binary tree: no node sends them more than
  /// twice. `&f` and `tree_call<&f>` must be registered on every member. If a member dies, the results of the members
  /// below it are lost too. fail_fast: throws RemoteError as call_any if any call failed, once the whole tree has
  /// answered. partial: lists the failures in the result.
  template <auto F, class... Args>
  Gathered<detail::ResultOf<decltype(F)>> call_tree(const Scope& scope, const Args&... args) const;

  /// Calls F as call_tree and combines the results on their way back, always in the order of the names. Combine is a
  /// function R(R, R). `&f` and `tree_call_reduced<&f, &combine>` must be registered on every member. Throws as
  /// call_tree; a partial group throws only if no member has a result.
  template <auto F, auto Combine, class... Args>
  Reduced<detail::ResultOf<decltype(F)>> call_tree_reduced(const Scope& scope, const Args&... args) const;

  /// Waits until every member has called it. The n-th barrier of one member meets the n-th of the others; groups with
  /// other members, or other `Failures`, are independent. Returns the members that were left out (partial only). Throws
  /// RemoteError: timeout, naming the missing members; peer_down (partial: only if a member that died has let others
  /// pass and not this node); std::invalid_argument if this node is no member.
  std::map<NodeName, Error> barrier(const Scope& scope) const;

  /// A barrier that gives every member the `value` of every member. REQUIRES: all pass the same type. Throws as
  /// barrier; RemoteError: not_serializable if `value` has references or gradients, bad_argument if a member brought
  /// another type.
  template <class T>
  Gathered<T> all_gather(const Scope& scope, const T& value) const;

  /// A barrier that gives member `to` the `value` of every member; the others get nothing. Throws as all_gather.
  template <class T>
  Gathered<T> gather(const Scope& scope, const NodeName& to, const T& value) const;

 private:
  /// Takes what one member has brought.
  using TakeValue = std::function<void(const NodeName& from, const msg::Payload& value)>;

  /// Meets the other members with a value of `type`; `receiver`, unless empty, gets the values. Returns the members
  /// that were left out. Throws as `barrier`; RemoteError{bad_argument} if a member brought another type or `take`
  /// throws.
  std::map<NodeName, Error> meet(const Scope& scope, const std::string& operation, const NodeName& receiver,
                                 const Fingerprint& type, msg::Payload own, const TakeValue& take) const;
  template <class T>
  [[nodiscard]] Gathered<T> exchange(const Scope& scope, const std::string& operation, const NodeName& receiver,
                                     const T& value) const;

  /// Returns the names in rotation, the next one first.
  [[nodiscard]] std::vector<NodeName> in_turn() const;

  std::vector<NodeName> names_;
  Failures failures_;
  std::shared_ptr<std::atomic<std::size_t>> turn_;  // of call_one; shared by copies
};

}  // namespace troupe

#include "actors/group_calls.h"
