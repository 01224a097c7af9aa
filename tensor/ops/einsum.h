// Sums of products, described by an equation of labels.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace troupe {

/// Multiplies the elements of the operands at equal labels and sums over every label that the result does not have:
/// `einsum("ij,jk->ik", {a, b})` is matmul(a, b).
///
/// A label is a letter and names one dimension; `...` names any number of further dimensions, which broadcast. Sizes at
/// one label are equal or 1. Without `->` the result has the dimensions of `...`, then the labels that occur once, in
/// alphabetical order (capitals first). Operands are multiplied from left to right, by matmul if a label is summed.
/// Dtype: promoted from all operands, not boolean; f16 and bf16 are rounded once, at the end.
/// Source of the rules: torch.einsum; a label twice in one operand (its diagonal) is not supported.
///
/// Throws ValueError `[einsum] neither a label nor an ellipsis: - in i-j`, `[einsum] 2 operands in ij,jk, 3 given`,
/// `[einsum] label i twice in one operand: ii->i`, `[einsum] label i twice in the result: ij->ii`,
/// `[einsum] label k of the result is in no operand: ij->ik`,
/// ShapeError `[einsum] 3 labels for (2, 3): ijk->i`, `[einsum] sizes of label j differ: 3 and 4 in ij,jk->ik`.
[[nodiscard]] Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
[[nodiscard]] Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace troupe
