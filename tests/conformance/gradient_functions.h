// Functions through which gradients flow, for the rows of contexts and backward passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/task.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

using Leaf = RRef<Variable>;

/// Returns a parameter of `size` elements, all `value`.
Variable make_leaf(std::int64_t size, double value);
Variable constant_of(std::int64_t size, double value);
/// Returns the gradient that the leaf has in the context of this call; undefined if there is none.
Tensor gradient_here(Scope& scope, const Leaf& leaf);

Variable product(const Variable& a, const Variable& b);
/// a b + a, once computed for nothing, and with a product that is not used.
Variable busy_product(const Variable& a, const Variable& b);
Variable dot_of(const Variable& a, const Variable& b, const Variable& c);
/// Returns the rows as one matrix.
Variable stacked(const std::vector<Variable>& rows);
/// Returns x + 1, 2 x and x x.
std::vector<Variable> three_of(const Variable& x);
Variable in_f64(const Variable& a, const Variable& b);
Variable make_table(std::int64_t rows, std::int64_t width);
/// Returns the rows of a table of this node, whose gradient is rows too.
Variable sparse_rows_of(Scope& scope, const Leaf& table, const Tensor& indices);
Variable rows_of(const Variable& table, const Tensor& indices);
/// The same with the option that the gradient is rows.
Variable sparse_rows(const Variable& table, const Tensor& indices);
/// As sparse_rows_of, after a backward pass of its own over the rows.
Variable sparse_rows_after_backward(Scope& scope, const Leaf& table, const Tensor& indices);

Variable times_leaf(Scope& scope, const Variable& x, const Leaf& leaf);
Variable product_of_leaves(Scope& scope, const Leaf& a, const Leaf& b);
/// Returns a reference to the leaf, which itself stays on this node.
RRef<Leaf> wrapped(Scope& scope, const Leaf& leaf);
Variable unwrapped(Scope& scope, const RRef<Leaf>& leaf);

/// Passes a and b along `path` and returns their product, computed on its last node.
Variable product_along(Scope& scope, std::vector<NodeName> path, const Variable& a, const Variable& b);
/// As product_along, but the last node's backward throws "boom".
Variable explode_along(Scope& scope, std::vector<NodeName> path, const Variable& x);
/// Returns tanh of x, `count` times, on each node of `path`: each saves the size of x.
Variable tanh_along(Scope& scope, std::vector<NodeName> path, std::int32_t count, const Variable& x);
/// Returns the bytes of all tensors on the CPU that this process has.
std::int64_t tensor_bytes_here();
/// Returns the product after a backward pass of its own over it.
Variable product_after_backward(Scope& scope, const Variable& a, const Variable& b);
/// Returns the product, computed after a call of `other` that takes a while.
Task<Variable> product_after_wait(Scope& scope, NodeName other, Variable a, Variable b);
/// Returns the product; hooks multiply the gradients of both by 10.
Variable product_with_hooks(const Variable& a, const Variable& b);
/// Adds a hook that multiplies the gradients of `parameter` by `factor`.
void multiply_gradients(const Variable& parameter, double factor);

/// What the arguments look like to their receiver: "received 0", "received 1" for those of one message, by their place
/// in it, "constant" for those without a gradient.
std::string arrived_as(const Variable& a, const Variable& b);
/// Messages of this node with variables whose gradients return, in the context of this call.
std::int64_t sends_here(Scope& scope);

/// On `threads` threads, each with a context of its own: four dependent calls on `node`, one pass. Returns the number
/// of right gradients.
std::int64_t train_in_threads(Scope& scope, const NodeName& node, std::int32_t threads);

[[nodiscard]] FunctionRegistry with_gradient_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
