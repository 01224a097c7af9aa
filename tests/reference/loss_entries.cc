#include "autograd/ops/loss.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

KlDivReduction kl_reduction(const Case& c) {
  if (c.text("reduction") == "batchmean") return KlDivReduction::batchmean;
  return static_cast<KlDivReduction>(c.reduction());
}

/// Returns input `i`, or an undefined tensor.
Tensor tensor_or_none(const Case& c, std::size_t i) { return i < c.inputs().size() ? c.tensor(i) : Tensor(); }

std::int64_t ignored(const Case& c) { return c.has("ignore_index") ? c.integer("ignore_index") : -100; }

Computed cross_entropy_of(const Case& c) {
  return cross_entropy(c.in(0), c.tensor(1),
                       {.weight = tensor_or_none(c, 2),
                        .ignore_index = ignored(c),
                        .reduction = c.reduction(),
                        .label_smoothing = c.number("label_smoothing")});
}

}  // namespace

Entries loss_entries() {
  return {
      {"weighted_nll_loss",
       [](const Case& c) {
         return nll_loss(c.in(0), c.tensor(1),
                         {.weight = tensor_or_none(c, 2), .ignore_index = ignored(c), .reduction = c.reduction()});
       }},
      {"weighted_cross_entropy", cross_entropy_of},
      {"soft_cross_entropy", cross_entropy_of},
      {"l1_loss", [](const Case& c) { return l1_loss(c.in(0), c.in(1), c.reduction()); }},
      {"smooth_l1_loss",
       [](const Case& c) {
         return smooth_l1_loss(c.in(0), c.in(1), {.beta = c.number("beta"), .reduction = c.reduction()});
       }},
      {"huber_loss",
       [](const Case& c) {
         return huber_loss(c.in(0), c.in(1), {.delta = c.number("delta"), .reduction = c.reduction()});
       }},
      {"bce_loss",
       [](const Case& c) {
         return bce_loss(c.in(0), c.in(1), {.weight = tensor_or_none(c, 2), .reduction = c.reduction()});
       }},
      {"bce_with_logits",
       [](const Case& c) {
         return bce_with_logits(
             c.in(0), c.in(1),
             {.weight = tensor_or_none(c, 2), .pos_weight = tensor_or_none(c, 3), .reduction = c.reduction()});
       }},
      {"kl_div",
       [](const Case& c) {
         return kl_div(c.in(0), c.in(1), {.log_target = c.flag("log_target"), .reduction = kl_reduction(c)});
       }},
  };
}

}  // namespace troupe::reference
