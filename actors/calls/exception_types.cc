#include "actors/calls/exception_types.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace troupe::detail {

void ExceptionTypes::add(RegisteredException type) {
  if (type.name.empty()) throw std::invalid_argument("[FunctionRegistry] an exception type needs a name");
  if (by_name_.contains(type.name)) {
    throw std::invalid_argument(
        fmt::format("[FunctionRegistry] the name \"{}\" is given to two exception types", type.name));
  }
  if (const auto other = by_type_.find(type.type); other != by_type_.end()) {
    throw std::invalid_argument(fmt::format("[FunctionRegistry] one exception type under two names: \"{}\" and \"{}\"",
                                            other->second->name, type.name));
  }
  const auto added = std::make_shared<const RegisteredException>(std::move(type));
  by_name_.emplace(added->name, added);
  by_type_.emplace(added->type, added);
  by_type_.emplace(added->arrived, added);
}

void ExceptionTypes::describe(const std::exception& exception, Error& error) const {
  const auto known = by_type_.find(std::type_index(typeid(exception)));
  if (known == by_type_.end()) return;
  const RegisteredException& type = *known->second;
  try {
    OutArchive archive;
    type.save(archive, exception);
    Encoded fields = archive.finish();
    if (fields.frames.empty() && fields.bytes.size() <= kFieldBytesMax) {
      error.exception = {type.name, type.fingerprint, std::move(fields.bytes)};
    } else {
      error.hint =
          fmt::format("the fields of {} do not travel: {}", type.name,
                      fields.frames.empty() ? fmt::format("{} bytes, at most {}", fields.bytes.size(), kFieldBytesMax)
                                            : "they hold a tensor");
    }
  } catch (const std::exception& failure) {
    error.hint = fmt::format("the fields of {} do not travel: {}", type.name, failure.what());
  } catch (...) {
    error.hint = fmt::format("the fields of {} do not travel: serialize threw what is no std::exception", type.name);
  }
}

void ExceptionTypes::raise(const Error& error) const {
  const auto known = by_name_.find(error.exception.name);
  if (known == by_name_.end() || known->second->fingerprint != error.exception.fingerprint) return;
  std::exception_ptr exception;
  try {
    InArchive archive(error.exception.bytes, {});
    exception = known->second->load(archive, error);
  } catch (const std::exception&) {
    return;  // the bytes are not of that type
  }
  std::rethrow_exception(exception);
}

void throw_error(const ExceptionTypes* types, const Error& error) {
  if (types != nullptr && !error.exception.name.empty()) types->raise(error);
  throw RemoteError(error);
}

}  // namespace troupe::detail
