#include "autograd/ops/ctc_loss.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {}  // namespace

Entries margin_loss_entries() {
  return {
      {"margin_ranking_loss",
       [](const Case& c) {
         return margin_ranking_loss(c.in(0), c.in(1), c.tensor(2),
                                    {.margin = c.number("margin"), .reduction = c.reduction()});
       }},
      {"hinge_embedding_loss",
       [](const Case& c) {
         return hinge_embedding_loss(c.in(0), c.tensor(1), {.margin = c.number("margin"), .reduction = c.reduction()});
       }},
      {"cosine_embedding_loss",
       [](const Case& c) {
         return cosine_embedding_loss(c.in(0), c.in(1), c.tensor(2),
                                      {.margin = c.number("margin"), .reduction = c.reduction()});
       }},
      {"soft_margin_loss", [](const Case& c) { return soft_margin_loss(c.in(0), c.tensor(1), c.reduction()); }},
      {"triplet_margin_loss",
       [](const Case& c) {
         return triplet_margin_loss(
             c.in(0), c.in(1), c.in(2),
             {.margin = c.number("margin"), .p = c.number("p"), .swap = c.flag("swap"), .reduction = c.reduction()});
       }},
      {"multi_margin_loss",
       [](const Case& c) {
         return multi_margin_loss(c.in(0), c.tensor(1),
                                  {.p = static_cast<int>(c.integer("p")),
                                   .margin = c.number("margin"),
                                   .weight = c.inputs().size() > 2 ? c.tensor(2) : Tensor(),
                                   .reduction = c.reduction()});
       }},
      {"ctc_loss",
       [](const Case& c) {
         const CtcLossOptions options{.blank = c.integer("blank"), .reduction = c.reduction()};
         return ctc_loss(log_softmax(c.in(0)), c.tensor(1), c.tensor(2), c.tensor(3), options);
       }},
      {"poisson_nll_loss",
       [](const Case& c) {
         return poisson_nll_loss(
             c.in(0), c.tensor(1),
             {.log_input = c.flag("log_input"), .full = c.flag("full"), .reduction = c.reduction()});
       }},
      {"gaussian_nll_loss",
       [](const Case& c) {
         return gaussian_nll_loss(c.in(0), c.in(1), c.in(2), {.full = c.flag("full"), .reduction = c.reduction()});
       }},
  };
}

}  // namespace troupe::reference
