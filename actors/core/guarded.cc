#include "actors/core/guarded.h"

#include <exception>
#include <new>
#include <system_error>

namespace troupe::detail {
namespace {

bool is_shortage(const std::error_code& code) {
  using enum std::errc;
  return code == resource_unavailable_try_again || code == not_enough_memory || code == too_many_files_open ||
         code == too_many_files_open_in_system;
}

}  // namespace

const char* text_of(const std::exception& exception) noexcept {
  const char* text = exception.what();
  return text != nullptr ? text : "";
}

Error failure_of_current_exception(std::string_view what) noexcept {
  Error error;
  set_text(error.operation, what);
  try {
    throw;
  } catch (const std::bad_alloc&) {
    error.code = ErrorCode::resource_exhausted;
    set_text(error.message, "out of memory");
  } catch (const std::system_error& exception) {
    if (is_shortage(exception.code())) error.code = ErrorCode::resource_exhausted;
    set_text(error.message, text_of(exception));
  } catch (const RemoteError& exception) {
    set_text(error.message, "a call failed");
    set_text(error.cause, text_of(exception));
  } catch (const std::exception& exception) {
    set_text(error.message, text_of(exception));
  } catch (...) {
    set_text(error.message, "it threw what is no std::exception");
  }
  return error;
}

}  // namespace troupe::detail
