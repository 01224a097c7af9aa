// The operations of the reference suite: for each op of the data, a function that computes it with Troupe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/sequential.h"
#include "autograd/ops.h"
#include "tests/reference/case.h"

namespace troupe::reference {

/// Results in the order of the data's "out0", "out1", ..., and the module that computed them, if any.
struct Computed {
  Computed(Variable result) : results{std::move(result)} {}          // NOLINT(google-explicit-constructor)
  Computed(Tensor result) : results{Variable(std::move(result))} {}  // NOLINT(google-explicit-constructor)
  Computed(std::vector<Variable> all) : results(std::move(all)) {}   // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Computed(const SortedVariables& sorted) : results{sorted.values, sorted.indices} {}
  // A module's parameters are compared as well.
  Computed(Variable result, std::shared_ptr<nn::Module> computed_by)
      : results{std::move(result)}, module(std::move(computed_by)) {}
  Computed(std::vector<Variable> all, std::shared_ptr<nn::Module> computed_by)
      : results(std::move(all)), module(std::move(computed_by)) {}

  std::vector<Variable> results;
  std::shared_ptr<nn::Module> module;
};

using Entry = std::function<Computed(const Case&)>;
using Entries = std::map<std::string, Entry>;

/// Returns the option "bias" of a layer.
[[nodiscard]] inline nn::Bias layer_bias(const Case& c) { return c.flag("bias") ? nn::Bias::yes : nn::Bias::no; }

// One function per group of the data.
[[nodiscard]] Entries elementwise_entries();
[[nodiscard]] Entries activation_entries();
[[nodiscard]] Entries inplace_entries();
[[nodiscard]] Entries reduce_entries();
[[nodiscard]] Entries product_entries();
[[nodiscard]] Entries contraction_entries();
[[nodiscard]] Entries conv_entries();
[[nodiscard]] Entries image_layer_entries();
[[nodiscard]] Entries image_entries();
[[nodiscard]] Entries shape_entries();
[[nodiscard]] Entries arrange_entries();
[[nodiscard]] Entries embedding_entries();
[[nodiscard]] Entries loss_entries();
[[nodiscard]] Entries margin_loss_entries();
[[nodiscard]] Entries nn_entries();
[[nodiscard]] Entries norm_entries();
[[nodiscard]] Entries options_entries();
[[nodiscard]] Entries module_entries();
[[nodiscard]] Entries rnn_entries();
[[nodiscard]] Entries layer_entries();
[[nodiscard]] Entries attention_entries();
[[nodiscard]] Entries optimizer_entries();
[[nodiscard]] Entries schedule_entries();

/// Returns the network of cases_layers.py with its initial values.
[[nodiscard]] std::shared_ptr<nn::Sequential> norm_net(DType dtype);

}  // namespace troupe::reference
