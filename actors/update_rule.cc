#include "actors/update_rule.h"

#include <fmt/format.h>

#include "messages/archive.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

template <class Rule, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<std::byte>& bytes) {
  Options options;
  InArchive archive(bytes, {});
  archive(options);
  archive.finish();
  return std::make_unique<Rule>(options);
}

Error refused(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.execution = Execution::never;
  return error;
}

}  // namespace

UpdateRule rule_of(const optim::SgdOptions& options) {
  OutArchive archive;
  archive(options);
  return {"sgd", archive.finish().bytes};
}

Result<std::unique_ptr<optim::Optimizer>> make_rule(const UpdateRule& rule) {
  try {
    if (rule.name == "sgd") return make<optim::Sgd, optim::SgdOptions>(rule.options);
  } catch (const TensorError& error) {
    return refused(ErrorCode::bad_argument, error.what());
  } catch (const DecodeError& error) {
    return refused(ErrorCode::decode, error.what());
  }
  return refused(ErrorCode::bad_argument, fmt::format("there is no update rule \"{}\" in this program", rule.name));
}

}  // namespace troupe::detail
