// Functions of the conformance tests that make many calls at once, or carry values large enough to observe in transfer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "tensor/tensor.h"
#include "tests/conformance/async_functions.h"

namespace troupe::testing {

/// Returns the bytes that this node sent to `peer` and received from it since they connected.
std::pair<std::uint64_t, std::uint64_t> bytes_with(Scope& scope, const NodeName& peer);

/// Returns the bytes of this process that tensors use, and those cached for later tensors.
std::uint64_t bytes_of_tensors();

Tensor filled(std::int64_t size, double value);
/// Returns `count` tensors of one element, each in memory of its own.
std::vector<Tensor> many_tensors(std::int64_t count);

/// Returns the number of elements of `tensor`, and of characters of `text`.
std::int64_t count_elements(const Tensor& tensor);
double last_element(const Tensor& tensor);
std::int64_t count_characters(const std::string& text);
/// As above after `ms`, during which the function holds its arguments and its thread.
std::int64_t count_elements_after(const Tensor& tensor, std::int32_t ms);

/// Fetches the tensor and returns the sum of its elements.
double fetched_sum(Scope& scope, const RRef<Tensor>& tensor);

/// Returns the result of fetched_sum on `other`.
double forwarded_sum(Scope& scope, const NodeName& other, const RRef<Tensor>& tensor);

/// Arrives `times` times at once. Returns the least number that an arrival got.
std::int64_t arrive_often(Scope& scope, const RRef<Gate>& gate, std::int64_t times);

/// Makes `other` square all numbers below `times`, at once. Returns the number of correct squares.
std::int64_t square_often(Scope& scope, const NodeName& other, std::int64_t times);

/// Makes this node's router fail with an exception, which ends its process: the call gets no result.
void throw_in_router(Scope& scope);

/// Returns `everywhere` with all of these functions added.
[[nodiscard]] FunctionRegistry with_load_functions(const FunctionRegistry& everywhere);

}  // namespace troupe::testing
