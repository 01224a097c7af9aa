// Calls that travel along a binary tree of nodes, and results that come back along it.
//
// A tree is a list of names: the first is the root, and each half of the others is a tree below it. The root calls the
// function on its own node and the tree call on the roots of both halves, concurrently, with ordinary calls:
// references, gradients, deadlines and cancellation work as in every call. Results are combined in the order own, first
// half, second half, so the result does not depend on the order of answers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/collectives/gathered.h"
#include "actors/scope.h"

namespace troupe {
namespace detail {

/// Returns `names` in two halves; the first is not the smaller one.
[[nodiscard]] std::array<std::vector<NodeName>, 2> halves(const std::vector<NodeName>& names);

/// Returns the error of the members of a tree whose root's answer does not account for them.
[[nodiscard]] Error unaccounted(const NodeName& root);

/// The results that a tree has collected.
template <class Sum>
struct TreeResult {
  Sum sum;
  std::map<NodeName, Error> failures;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(sum, failures);
  }
};

/// Keeps every result, by name.
template <class R>
struct KeepEach {
  using Sum = std::map<NodeName, Stored<R>>;
  static Sum of(const NodeName& name, Stored<R> value) {
    Sum sum;
    sum.emplace(name, std::move(value));
    return sum;
  }
  static void add(Sum& sum, Sum more) { sum.merge(more); }
  /// Returns whether `sum` has the results of all but the failed of `names`, and no others.
  static bool is_of(const Sum& sum, const std::vector<NodeName>& names, const std::map<NodeName, Error>& failures) {
    return sum.size() + failures.size() == names.size() && std::ranges::all_of(names, [&](const NodeName& name) {
             return sum.contains(name) != failures.contains(name);
           });
  }
};

/// Combines the results; empty if there are none.
template <auto Combine, class R>
struct CombineAll {
  using Sum = std::optional<R>;
  static Sum of(const NodeName&, R value) { return std::optional<R>(std::move(value)); }
  static void add(Sum& sum, Sum more) {
    if (!sum) {
      sum = std::move(more);
    } else if (more) {
      sum = Combine(std::move(*sum), std::move(*more));
    }
  }
  /// Returns whether `sum` can be the results of all but the failed of `names`: they have one unless all failed.
  static bool is_of(const Sum& sum, const std::vector<NodeName>& names, const std::map<NodeName, Error>& failures) {
    const auto failed = std::ranges::count_if(names, [&](const NodeName& name) { return failures.contains(name); });
    return static_cast<std::size_t>(failed) == failures.size() && sum.has_value() == (failures.size() < names.size());
  }
};

/// Calls F on all nodes of a tree and collects results with `Adding`. Every node serves `run`.
template <auto F, class Adding, class Wire = WireOf<decltype(F)>>
struct Tree;

template <auto F, class Adding, class... P>
struct Tree<F, Adding, std::tuple<P...>> {
  using Found = TreeResult<typename Adding::Sum>;

  /// Served: calls F on this node and on the nodes `below`.
  static Found run(Scope& scope, const std::vector<NodeName>& below, const P&... args) {
    const NodeName self = scope.node_name();
    const auto own = scope.rpc_async(self, F, args...);
    auto [left, right] = halves(below);
    Part first(scope, std::move(left), args...);
    Part second(scope, std::move(right), args...);
    Found found;
    own.state().wait();
    if (const auto& result = own.state().result()) {
      found.sum = Adding::of(self, result.value());
    } else {
      found.failures.emplace(self, result.error());
    }
    first.add_to(found, scope, args...);
    second.add_to(found, scope, args...);
    return found;
  }

  /// Calls F on the tree of `names`, from a node outside of it.
  static Found run_on(const Scope& scope, std::vector<NodeName> names, const P&... args) {
    Found found;
    Part(scope, std::move(names), args...).add_to(found, scope, args...);
    return found;
  }

 private:
  /// The call of one half. If its root certainly did not run it, the next name becomes the root. Otherwise all names of
  /// the half share the root's failure: work that may have been done must not be repeated. So they do if the root's
  /// answer does not say of each of them, and of nobody else, that it has a result or a failure.
  class Part {
   public:
    Part(const Scope& scope, std::vector<NodeName> names, const P&... args) : names_(std::move(names)) {
      call(scope, args...);
    }

    void add_to(Found& found, const Scope& scope, const P&... args) {
      while (!names_.empty()) {
        called_.state().wait();
        const Result<Found>& result = called_.state().result();
        if (result && !Adding::is_of(result.value().sum, names_, result.value().failures)) {
          for (const NodeName& name : names_) found.failures.emplace(name, unaccounted(names_.front()));
          return;
        }
        if (result) {
          Adding::add(found.sum, result.value().sum);
          found.failures.insert(result.value().failures.begin(), result.value().failures.end());
          return;
        }
        if (result.error().execution != Execution::never) {
          for (const NodeName& name : names_) found.failures.emplace(name, result.error());
          return;
        }
        found.failures.emplace(names_.front(), result.error());
        names_.erase(names_.begin());
        call(scope, args...);
      }
    }

   private:
    void call(const Scope& scope, const P&... args) {
      if (names_.empty()) return;
      called_ =
          scope.rpc_async(names_.front(), &Tree::run, std::vector<NodeName>(names_.begin() + 1, names_.end()), args...);
    }

    std::vector<NodeName> names_;
    Future<Found> called_;  // of the first name's call
  };
};

template <auto F>
using TreeCall = Tree<F, KeepEach<ResultOf<decltype(F)>>>;
template <auto F, auto Combine>
using TreeCallReduced = Tree<F, CombineAll<Combine, ResultOf<decltype(F)>>>;

}  // namespace detail

/// Register this, beside `F` itself, for Group::call_tree<F>.
template <auto F>
inline constexpr auto tree_call = &detail::TreeCall<F>::run;

/// Register this, beside `F` itself, for Group::call_tree_reduced<F, Combine>.
template <auto F, auto Combine>
inline constexpr auto tree_call_reduced = &detail::TreeCallReduced<F, Combine>::run;

}  // namespace troupe
