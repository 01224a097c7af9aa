// A stage as its driver sees it: a module of any class on some node.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/pipeline/connections.h"
#include "actors/pipeline/stage_class.h"
#include "actors/pipeline/stage_seat.h"
#include "actors/pipeline/stage_task.h"
#include "actors/remote_module.h"
#include "messages/schema.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member. None waits unless it says so.
class StageLink {
 public:
  virtual ~StageLink() = default;

  /// Sends a micro-batch to the stage. Returns the reference of its results.
  [[nodiscard]] virtual AnyRRef start(const Scope& scope, const RRef<StageSeat>& seat, const StageTask& task) const = 0;

  /// Makes one result of those of all micro-batches, on the stage's node.
  [[nodiscard]] virtual AnyRRef join(const Scope& scope, const std::vector<AnyRRef>& parts) const = 0;

  /// Takes the first `count` results, or one of them. REQUIRES: the stage has several results.
  [[nodiscard]] virtual AnyRRef first_results(const Scope& scope, const AnyRRef& results, std::size_t count) const = 0;
  [[nodiscard]] virtual AnyRRef result(const Scope& scope, const AnyRRef& results, std::size_t index) const = 0;

  /// As RemoteModule's. Wait.
  [[nodiscard]] virtual std::vector<RRef<Variable>> parameters(const Scope& scope) const = 0;
  virtual void set_mode(const Scope& scope, nn::Mode mode) const = 0;

  /// Returns the reference of the module: that of two stages is equal if they are the same module.
  [[nodiscard]] virtual const RRefId& module_id() const = 0;
  /// Returns the node and the types; no names.
  [[nodiscard]] virtual StageShape shape() const = 0;
  /// True if forward takes a Scope: it may call other nodes, and cannot be recomputed.
  [[nodiscard]] virtual bool takes_scope() const = 0;
};

template <class Tuple>
struct SchemasOf;
template <class... Ts>
struct SchemasOf<std::tuple<Ts...>> {
  static std::vector<std::string> list() { return {schema_of<Ts>()...}; }
};

template <class M>
class LinkOf final : public StageLink {
  using R = StageResult<M>;
  using Results = StageResults<R>;
  static constexpr std::size_t kResults = std::tuple_size_v<typename Results::List>;

 public:
  explicit LinkOf(RemoteModule<M> module) : module_(std::move(module)) {}

  [[nodiscard]] AnyRRef start(const Scope& scope, const RRef<StageSeat>& seat, const StageTask& task) const override {
    return scope.remote(module_.owner(), RunStage<M>{}, seat, module_.module_rref(), task);
  }

  [[nodiscard]] AnyRRef join(const Scope& scope, const std::vector<AnyRRef>& parts) const override {
    std::vector<RRef<R>> typed;
    for (const AnyRRef& part : parts) typed.push_back(part.as<R>());
    return scope.remote(module_.owner(), JoinResults<M>{}, typed);
  }

  [[nodiscard]] AnyRRef first_results(const Scope& scope, const AnyRRef& results, std::size_t count) const override {
    if (count == 1) return result(scope, results, 0);
    AnyRRef taken;
    if constexpr (Results::kMany) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((count == I + 2 ? void(taken = results.as<R>().remote(scope, FirstResultsOfStage<M, I + 2>{})) : void()), ...);
      }(std::make_index_sequence<kFirstCounts<kResults>>{});
    }
    return taken;
  }

  [[nodiscard]] AnyRRef result(const Scope& scope, const AnyRRef& results, std::size_t index) const override {
    AnyRRef taken;
    if constexpr (Results::kMany) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((index == I ? void(taken = results.as<R>().remote(scope, ResultOfStage<M, I>{})) : void()), ...);
      }(std::make_index_sequence<kResults>{});
    }
    return taken;
  }

  [[nodiscard]] std::vector<RRef<Variable>> parameters(const Scope& scope) const override {
    return module_.remote_parameters(scope);
  }
  void set_mode(const Scope& scope, nn::Mode mode) const override { module_.set_mode(scope, mode); }

  [[nodiscard]] const RRefId& module_id() const override { return module_.module_rref().id(); }
  [[nodiscard]] StageShape shape() const override {
    return {module_.owner(), SchemasOf<StageParameters<M>>::list(), SchemasOf<typename Results::List>::list(), {}, {}};
  }
  [[nodiscard]] bool takes_scope() const override { return Signature<ForwardOf<M>>::takes_scope; }

 private:
  const RemoteModule<M> module_;
};

}  // namespace troupe::detail
