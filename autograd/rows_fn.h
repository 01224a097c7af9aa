// Operations that select rows of a table. The gradient by the table is sparse: it has few rows.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"
#include "tensor/sparse.h"

namespace troupe {

/// A vertex with one output, whose gradient by its first input is computed as rows. A pass uses the rows if that input
/// is a leaf, else the dense tensor that they represent.
class RowsFn : public GradFn {
 public:
  /// Gradients for the edges of `needed`.
  struct Applied {
    std::shared_ptr<const SparseTensor> rows;  ///< gradient for the first edge; null if that is not needed
    std::vector<Tensor> gradients;             ///< gradients for the other edges; the first entry is undefined
  };
  [[nodiscard]] virtual Applied apply_rows(const Tensor& gradient, std::span<const Edge> needed) const = 0;

  [[nodiscard]] const RowsFn* as_rows() const noexcept final { return this; }
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const final {
    return apply_to(std::move(gradients), next());
  }
  [[nodiscard]] std::vector<Tensor> apply_to(std::vector<Tensor> gradients, std::span<const Edge> needed) const final {
    Applied applied = apply_rows(gradients.front(), needed);
    if (applied.rows) applied.gradients.front() = applied.rows->to_dense();
    return std::move(applied.gradients);
  }

 protected:
  RowsFn(std::string_view name, std::vector<Edge> next)
      : GradFn(name, VertexKind::operation, std::move(next), 1, Work::of_inputs) {}
};

namespace detail {

/// The vertex that record_rows() makes; see OperationFn.
template <class Backward>
class RowsOperationFn final : public RowsFn {
 public:
  RowsOperationFn(std::string_view name, std::vector<Edge> inputs, Backward backward)
      : RowsFn(name, std::move(inputs)), backward_(std::move(backward)) {}

  [[nodiscard]] Applied apply_rows(const Tensor& gradient, std::span<const Edge> needed) const override {
    return (*backward_)(gradient, needed);
  }

 protected:
  void drop_saved() const noexcept override { backward_.reset(); }

 private:
  mutable std::optional<Backward> backward_;
};

/// As record(); `backward` maps (gradient, needed edges) to RowsFn::Applied.
template <class Backward>
  requires std::is_invocable_r_v<RowsFn::Applied, const Backward&, const Tensor&, std::span<const Edge>>
[[nodiscard]] Variable record_rows(std::string_view name, Tensor value, std::vector<Edge> inputs, Backward backward) {
  if (inputs.empty()) return Variable(std::move(value));
  auto fn = std::make_shared<const RowsOperationFn<Backward>>(name, std::move(inputs), std::move(backward));
  return Variable::output_of({std::move(fn), 0}, std::move(value));
}

}  // namespace detail
}  // namespace troupe
