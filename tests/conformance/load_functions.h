// Functions of the conformance tests that make many calls at once, or values large enough to be seen on the way.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "tensor/tensor.h"
#include "tests/conformance/async_functions.h"

namespace troupe::testing {

/// Bytes that this node sent to `peer` since they met, and bytes that it got from there.
std::pair<std::uint64_t, std::uint64_t> bytes_with(Scope& scope, const NodeName& peer);

/// Bytes of this process that tensors use, and those that are kept for the next ones.
std::uint64_t bytes_of_tensors();

Tensor filled(std::int64_t size, double value);

/// Elements of `tensor`, characters of `text`.
std::int64_t count_elements(const Tensor& tensor);
double last_element(const Tensor& tensor);
std::int64_t count_characters(const std::string& text);
/// The same after `ms`, in which it holds its arguments and its thread.
std::int64_t count_elements_after(const Tensor& tensor, std::int32_t ms);

/// Fetches the tensor and returns the sum of its elements.
double fetched_sum(Scope& scope, const RRef<Tensor>& tensor);

/// What `other` gets for fetched_sum.
double forwarded_sum(Scope& scope, const NodeName& other, const RRef<Tensor>& tensor);

/// Arrives so many times at once; returns the least number that an arrival got.
std::int64_t arrive_often(Scope& scope, const RRef<Gate>& gate, std::int64_t times);

/// Has `other` square all numbers below `times`, at once; returns how many squares were right.
std::int64_t square_often(Scope& scope, const NodeName& other, std::int64_t times);

/// Has this node's router meet with an exception.
void throw_in_router(Scope& scope);

/// `everywhere` and all of these.
[[nodiscard]] FunctionRegistry with_load_functions(const FunctionRegistry& everywhere);

}  // namespace troupe::testing
