#include "optim/rule_options.h"

namespace troupe::optim {
namespace {

std::unique_ptr<Optimizer> make(const SgdOptions& options) { return std::make_unique<Sgd>(options); }
std::unique_ptr<Optimizer> make(const AdamOptions& options) { return std::make_unique<Adam>(options); }
std::unique_ptr<Optimizer> make(const AdamWOptions& options) { return std::make_unique<AdamW>(options); }
std::unique_ptr<Optimizer> make(const AdagradOptions& options) { return std::make_unique<Adagrad>(options); }
std::unique_ptr<Optimizer> make(const AdadeltaOptions& options) { return std::make_unique<Adadelta>(options); }
std::unique_ptr<Optimizer> make(const RMSpropOptions& options) { return std::make_unique<RMSprop>(options); }
std::unique_ptr<Optimizer> make(const AdamaxOptions& options) { return std::make_unique<Adamax>(options); }
std::unique_ptr<Optimizer> make(const RpropOptions& options) { return std::make_unique<Rprop>(options); }
std::unique_ptr<Optimizer> make(const NAdamOptions& options) { return std::make_unique<NAdam>(options); }
std::unique_ptr<Optimizer> make(const RAdamOptions& options) { return std::make_unique<RAdam>(options); }
std::unique_ptr<Optimizer> make(const AsgdOptions& options) { return std::make_unique<Asgd>(options); }
std::unique_ptr<Optimizer> make(const SparseAdamOptions& options) { return std::make_unique<SparseAdam>(options); }

}  // namespace

std::string_view rule_name(const RuleOptions& options) {
  return std::visit([]<class Options>(const Options&) { return Options::kRule; }, options);
}

std::unique_ptr<Optimizer> make_rule(const RuleOptions& options) {
  return std::visit([](const auto& of_rule) { return make(of_rule); }, options);
}

}  // namespace troupe::optim
