#include "actors/shards/update_rule.h"

#include <fmt/format.h>

#include <optional>
#include <variant>

#include "actors/core/error_not_run.h"
#include "messages/archive.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// Returns the options that `rule` encodes, if it is an alternative from index I on.
template <std::size_t I = 0>
std::optional<optim::RuleOptions> decode(const UpdateRule& rule) {
  if constexpr (I == std::variant_size_v<optim::RuleOptions>) {
    return std::nullopt;
  } else {
    using Options = std::variant_alternative_t<I, optim::RuleOptions>;
    if (rule.name != Options::kRule) return decode<I + 1>(rule);
    Options options;
    InArchive archive(rule.options, {});
    archive(options);
    archive.finish();
    return options;
  }
}

}  // namespace

UpdateRule rule_of(const optim::RuleOptions& options) {
  return std::visit(
      [](const auto& of_rule) {
        OutArchive archive;
        archive(of_rule);
        return UpdateRule{std::string(of_rule.kRule), archive.finish().bytes};
      },
      options);
}

Result<std::unique_ptr<optim::Optimizer>> make_rule(const UpdateRule& rule) {
  try {
    if (const auto options = decode(rule)) return optim::make_rule(*options);
  } catch (const TensorError& error) {
    return error_not_run(ErrorCode::bad_argument, error.what());
  } catch (const DecodeError& error) {
    return error_not_run(ErrorCode::decode, error.what());
  }
  return error_not_run(ErrorCode::bad_argument,
                       fmt::format("there is no update rule \"{}\" in this program", rule.name));
}

}  // namespace troupe::detail
