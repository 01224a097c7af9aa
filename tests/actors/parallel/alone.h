// A collective without peers, for tests of what is built on collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/collective.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"

namespace troupe::testing {

/// A group of one member, or of equal ones. Records its operations. One thread at a time.
class Alone final : public Collective {
 public:
  explicit Alone(std::vector<NodeName> names = {"trainer"}) : names_(std::move(names)) {}

  [[nodiscard]] const std::vector<NodeName>& names() const override { return names_; }
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] Tensor all_reduce(const Scope&, const Tensor& value, ReduceOp) override {
    operations.emplace_back("all_reduce");
    if (on_sum) on_sum();
    return value * static_cast<double>(names_.size());
  }
  [[nodiscard]] Tensor broadcast(const Scope&, const NodeName&, const Tensor& value) override {
    operations.emplace_back("broadcast");
    return value.clone();
  }
  [[nodiscard]] std::vector<Tensor> all_gather(const Scope&, const Tensor& value) override {
    operations.emplace_back("all_gather");
    gathered_bytes += value.nbytes();
    return {announced ? from_values<std::int64_t>({*announced}) : value.clone()};
  }
  [[nodiscard]] Future<Tensor> all_reduce_async(const Scope&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Tensor reduce(const Scope&, const NodeName&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<Tensor> reduce_async(const Scope&, const NodeName&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<Tensor> broadcast_async(const Scope&, const NodeName&, const Tensor&) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<std::vector<Tensor>> all_gather_async(const Scope&, const Tensor&) override {
    throw std::logic_error("not used in rounds");
  }
  void barrier(const Scope&) override { throw std::logic_error("not used in rounds"); }
  void fail(const std::string&) override { operations.emplace_back("fail"); }

  std::vector<std::string> operations;
  std::size_t gathered_bytes = 0;         ///< of this member's part in each all_gather
  std::function<void()> on_sum;           ///< called in each all_reduce
  std::optional<std::int64_t> announced;  ///< in the place of what is gathered: a member that lies

 private:
  std::vector<NodeName> names_;
};

}  // namespace troupe::testing
