#include "actors/update_rule.h"

#include <fmt/format.h>

#include <variant>

#include "actors/refused.h"
#include "messages/archive.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

constexpr const char* kSgd = "sgd";
constexpr const char* kAdam = "adam";

std::string name_of(const optim::SgdOptions&) { return kSgd; }
std::string name_of(const optim::AdamOptions&) { return kAdam; }

template <class Rule, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<std::byte>& bytes) {
  Options options;
  InArchive archive(bytes, {});
  archive(options);
  archive.finish();
  return std::make_unique<Rule>(options);
}

}  // namespace

UpdateRule rule_of(const optim::RuleOptions& options) {
  return std::visit([](const auto& of_rule) {
    OutArchive archive;
    archive(of_rule);
    return UpdateRule{name_of(of_rule), archive.finish().bytes};
  }, options);
}

Result<std::unique_ptr<optim::Optimizer>> make_rule(const UpdateRule& rule) {
  try {
    if (rule.name == kSgd) return make<optim::Sgd, optim::SgdOptions>(rule.options);
    if (rule.name == kAdam) return make<optim::Adam, optim::AdamOptions>(rule.options);
  } catch (const TensorError& error) {
    return refused(ErrorCode::bad_argument, error.what());
  } catch (const DecodeError& error) {
    return refused(ErrorCode::decode, error.what());
  }
  return refused(ErrorCode::bad_argument, fmt::format("there is no update rule \"{}\" in this program", rule.name));
}

}  // namespace troupe::detail
