#include "autograd/ops/ctc_loss.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Reduction reduction(const Case& c) {
  const std::string name = c.text("reduction");
  return name == "none" ? Reduction::none : name == "sum" ? Reduction::sum : Reduction::mean;
}

}  // namespace

Entries margin_loss_entries() {
  return {
      {"margin_ranking_loss",
       [](const Case& c) {
         return margin_ranking_loss(c.in(0), c.in(1), c.tensor(2),
                                    {.margin = c.number("margin"), .reduction = reduction(c)});
       }},
      {"hinge_embedding_loss",
       [](const Case& c) {
         return hinge_embedding_loss(c.in(0), c.tensor(1), {.margin = c.number("margin"), .reduction = reduction(c)});
       }},
      {"cosine_embedding_loss",
       [](const Case& c) {
         return cosine_embedding_loss(c.in(0), c.in(1), c.tensor(2),
                                      {.margin = c.number("margin"), .reduction = reduction(c)});
       }},
      {"soft_margin_loss", [](const Case& c) { return soft_margin_loss(c.in(0), c.tensor(1), reduction(c)); }},
      {"triplet_margin_loss",
       [](const Case& c) {
         return triplet_margin_loss(
             c.in(0), c.in(1), c.in(2),
             {.margin = c.number("margin"), .p = c.number("p"), .swap = c.flag("swap"), .reduction = reduction(c)});
       }},
      {"multi_margin_loss",
       [](const Case& c) {
         return multi_margin_loss(c.in(0), c.tensor(1),
                                  {.p = static_cast<int>(c.integer("p")),
                                   .margin = c.number("margin"),
                                   .weight = c.inputs().size() > 2 ? c.tensor(2) : Tensor(),
                                   .reduction = reduction(c)});
       }},
      {"ctc_loss",
       [](const Case& c) {
         const CtcLossOptions options{.blank = c.integer("blank"), .reduction = reduction(c)};
         return ctc_loss(log_softmax(c.in(0)), c.tensor(1), c.tensor(2), c.tensor(3), options);
       }},
      {"poisson_nll_loss",
       [](const Case& c) {
         return poisson_nll_loss(c.in(0), c.tensor(1),
                                 {.log_input = c.flag("log_input"), .full = c.flag("full"), .reduction = reduction(c)});
       }},
      {"gaussian_nll_loss",
       [](const Case& c) {
         return gaussian_nll_loss(c.in(0), c.in(1), c.in(2), {.full = c.flag("full"), .reduction = reduction(c)});
       }},
  };
}

}  // namespace troupe::reference
