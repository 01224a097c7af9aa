#include "messages/error.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <new>

namespace troupe {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::timeout: return "timeout";
    case ErrorCode::peer_down: return "peer_down";
    case ErrorCode::peer_unreachable: return "peer_unreachable";
    case ErrorCode::peer_restarted: return "peer_restarted";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::shutting_down: return "shutting_down";
    case ErrorCode::remote_exception: return "remote_exception";
    case ErrorCode::no_such_function: return "no_such_function";
    case ErrorCode::bad_argument: return "bad_argument";
    case ErrorCode::not_serializable: return "not_serializable";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::resource_exhausted: return "resource_exhausted";
    case ErrorCode::device_out_of_memory: return "device_out_of_memory";
    case ErrorCode::owner_died: return "owner_died";
    case ErrorCode::ref_revoked: return "ref_revoked";
    case ErrorCode::context_aborted: return "context_aborted";
    case ErrorCode::step_not_applied: return "step_not_applied";
    case ErrorCode::step_unknown: return "step_unknown";
    case ErrorCode::decode: return "decode";
    case ErrorCode::protocol_violation: return "protocol_violation";
    case ErrorCode::version_mismatch: return "version_mismatch";
    case ErrorCode::auth_failed: return "auth_failed";
    case ErrorCode::not_authorized: return "not_authorized";
    case ErrorCode::name_in_use: return "name_in_use";
    case ErrorCode::invalid_name: return "invalid_name";
    case ErrorCode::not_joined: return "not_joined";
    case ErrorCode::missing_device_map: return "missing_device_map";
    case ErrorCode::storage_full: return "storage_full";
    case ErrorCode::corrupt_data: return "corrupt_data";
    case ErrorCode::internal: return "internal";
    case ErrorCode::you_are_dead: return "you_are_dead";
  }
  return "unknown_code";
}

std::string_view name_of(Execution execution) {
  switch (execution) {
    case Execution::never: return "never";
    case Execution::maybe: return "maybe";
    case Execution::yes: return "yes";
  }
  return "unknown";
}

namespace {

/// Returns true if `operation` ran a function, or would have: "rpc project", "remote project".
bool is_call(std::string_view operation) { return operation.starts_with("rpc ") || operation.starts_with("remote "); }

}  // namespace

std::string Error::text() const {
  std::string line = operation;
  if (!peer.empty()) line += (line.empty() ? "" : " on ") + peer;
  if (!line.empty()) line += ": ";
  line += name_of(code);
  if (!message.empty()) line += ": " + message;
  if (is_call(operation)) line += fmt::format(" (ran: {})", name_of(execution));
  if (!cause.empty()) line += "; because " + cause;
  if (!hint.empty()) line += "; " + hint;
  return line;
}

std::string Error::clipped(std::string_view text) {
  constexpr std::size_t kTextMax = 60U << 10U;
  if (text.size() <= kTextMax) return std::string(text);
  std::size_t end = kTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{} [{} more bytes]", text.substr(0, end), text.size() - end);
}

void set_text(std::string& text, std::string_view to) noexcept {
  try {
    text = to;
  } catch (const std::bad_alloc&) {
    text.clear();
  }
}

namespace {

// Short enough to be stored in the string itself.
constexpr const char* kOutOfMemory = "out of memory";
constexpr std::size_t kExecutions = 4;  // the first has no name

constexpr std::size_t place_of(ErrorCode code, Execution execution) {
  return static_cast<std::size_t>(code) * kExecutions + static_cast<std::size_t>(execution);
}

using ErrorsWithoutMemory = std::array<Error, place_of(ErrorCode::you_are_dead, Execution::yes) + 1>;

/// Makes one Error for each code and `execution`. Allocates nothing.
ErrorsWithoutMemory errors_without_memory() {
  ErrorsWithoutMemory errors;
  for (std::size_t place = 0; place < errors.size(); ++place) {
    errors[place].code = static_cast<ErrorCode>(place / kExecutions);
    errors[place].execution = static_cast<Execution>(place % kExecutions);
    errors[place].message = kOutOfMemory;
  }
  return errors;
}

/// Errors that are never destroyed: threads may fail while the process exits.
union Kept {
  Kept() : errors(errors_without_memory()) {}
  ~Kept() {}
  const ErrorsWithoutMemory errors;
};

}  // namespace

Error copy_of(const Error& error) noexcept {
  try {
    return error;
  } catch (const std::bad_alloc&) {
    Error numbers;
    numbers.code = error.code;
    numbers.incarnation = error.incarnation;
    numbers.execution = error.execution;
    numbers.elapsed_us = error.elapsed_us;
    numbers.message = kOutOfMemory;
    return numbers;
  }
}

std::shared_ptr<const Error> shared_error(Error error) noexcept {
  static const Kept kept;
  const ErrorsWithoutMemory& without_memory = kept.errors;
  try {
    return std::make_shared<const Error>(std::move(error));
  } catch (const std::bad_alloc&) {  // `error` is unchanged
    const std::size_t place = place_of(error.code, error.execution);
    const bool is_known = place < without_memory.size();
    return {std::shared_ptr<void>(),
            &without_memory[is_known ? place : place_of(ErrorCode::internal, Execution::maybe)]};
  }
}

}  // namespace troupe
