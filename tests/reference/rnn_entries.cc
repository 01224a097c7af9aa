#include "autograd/nn/rnn.h"
#include "autograd/nn/rnn_cell.h"
#include "autograd/nn/state_dict.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

nn::RnnOptions rnn_options(const Case& c) {
  return {.layers = c.integer("layers"),
          .bias = layer_bias(c),
          .batch_first = c.flag("batch_first"),
          .bidirectional = c.flag("bidirectional"),
          .dtype = c.dtype()};
}

RnnNonlinearity nonlinearity(const Case& c) {
  return c.text("nonlinearity") == "relu" ? RnnNonlinearity::relu : RnnNonlinearity::tanh;
}

/// Returns input `i`, or an undefined variable.
Variable given(const Case& c, std::size_t i) { return i < c.inputs().size() ? c.in(i) : Variable(); }

/// Returns the module that `make` creates, with the parameters of the case.
template <class Make>
auto loaded(const Case& c, const Make& make) {
  Generator generator(1);
  const auto module = make(generator);
  nn::load_state_dict(*module, c.all("parameter."));
  return module;
}

}  // namespace

Entries rnn_entries() {
  return {
      {"Lstm",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::Lstm>(c.integer("inputs"), c.integer("hidden"), g, rnn_options(c));
         });
         const RnnOutputs out = module->forward(c.in(0), given(c, 1), given(c, 2));
         return Computed({out.output, out.hidden, out.cell}, module);
       }},
      {"Gru",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::Gru>(c.integer("inputs"), c.integer("hidden"), g, rnn_options(c));
         });
         const RnnOutputs out = module->forward(c.in(0), given(c, 1));
         return Computed({out.output, out.hidden}, module);
       }},
      {"Rnn",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::Rnn>(c.integer("inputs"), c.integer("hidden"), g, rnn_options(c),
                                            nonlinearity(c));
         });
         const RnnOutputs out = module->forward(c.in(0), given(c, 1));
         return Computed({out.output, out.hidden}, module);
       }},
      {"LstmCell",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::LstmCell>(c.integer("inputs"), c.integer("hidden"), g, layer_bias(c), c.dtype());
         });
         const nn::LstmState out = module->forward(c.in(0), {given(c, 1), given(c, 2)});
         return Computed({out.hidden, out.cell}, module);
       }},
      {"GruCell",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::GruCell>(c.integer("inputs"), c.integer("hidden"), g, layer_bias(c), c.dtype());
         });
         return Computed(module->forward(c.in(0), given(c, 1)), module);
       }},
      {"RnnCell",
       [](const Case& c) {
         const auto module = loaded(c, [&](Generator& g) {
           return std::make_shared<nn::RnnCell>(c.integer("inputs"), c.integer("hidden"), g, layer_bias(c), c.dtype());
         });
         return Computed(module->forward(c.in(0), given(c, 1)), module);
       }},
  };
}

}  // namespace troupe::reference
